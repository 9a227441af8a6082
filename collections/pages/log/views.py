"""Pages of the audit log."""

import json
from collections.abc import Iterator

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from log.audit.models import Entry
from log.audit.registry import action_choices
from log.audit.selectors import COLUMNS, BrokenLogError, entries_search, entry_document
from log.public_log.selectors import latest_checkpoint
from log.public_log.verification import log_verify
from pages.access import LogReadersOnly
from pages.not_found import found
from pages.words.log_sentences import told
from recipes.access import may_publish
from recipes.selectors import subjects_named
from web.htmx import htmx_of
from web.paging import page_of, text_of
from web.spreadsheets import csv_lines

PAGE_SIZE = 50


class LogView(LogReadersOnly):
    """Entries, newest first; search, filters and page are in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        page = page_of(_matching(request.GET), request, PAGE_SIZE)
        filters = {name: text_of(request.GET, name) for name in ("q", "action", "actor")}
        query = request.GET.copy()
        query.pop("before", None)
        context = {
            "page": page,
            "entries": told(page.rows, drafts=may_publish(request.user)),
            "filters": filters,
            "actions": action_choices(),
            "query": query.urlencode(),
        }
        return render(request, "log/log.html", context)


class EntryView(LogReadersOnly):
    """One entry: as a sentence, its details, and its raw form in the log."""

    def get(self, request: HttpRequest, index: int) -> HttpResponse:
        entry = found(Entry.objects.all(), "entry", index=index)
        around = Entry.objects.filter(index__in=(index - 1, index + 1)).in_bulk()
        context = {
            "entry": entry,
            "told": told([entry], drafts=may_publish(request.user))[0],
            "details": [(name, _in_words(value)) for name, value in entry.details.items()],
            "raw": json.dumps(entry_document(entry), indent=2, ensure_ascii=False),
            "before": around.get(index - 1),
            "after": around.get(index + 1),
        }
        return render(request, "log/entry.html", context)


class CheckView(LogReadersOnly):
    """The whole log checked against its tree; done on request only, because it reads every entry."""

    def get(self, request: HttpRequest) -> HttpResponse:
        problem, size = "", 0
        try:
            size = log_verify()
        except BrokenLogError as error:
            problem = str(error)
        context = {"problem": problem, "size": size, "checkpoint": latest_checkpoint()}
        template = "log/_check.html" if htmx_of(request) else "log/check.html"
        response = render(request, template, context)
        patch_vary_headers(response, ("HX-Request",))
        return response


class ExportView(LogReadersOnly):
    """Every entry that matches the filters, as CSV or JSON."""

    def get(self, request: HttpRequest, form: str) -> StreamingHttpResponse:
        entries = _matching(request.GET)
        media_type, lines = {
            "csv": ("text/csv; charset=utf-8", _csv_lines(entries)),
            "json": ("application/json", _json_lines(entries)),
        }[form]
        response = StreamingHttpResponse(lines, content_type=media_type)
        response["Content-Disposition"] = f'attachment; filename="audit.{form}"'
        return response


def _in_words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(member) for member in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _matching(query: QueryDict) -> QuerySet[Entry]:
    text = text_of(query, "q")
    return entries_search(
        text=text,
        subjects=subjects_named(text) if text else (),
        action=text_of(query, "action"),
        actor=text_of(query, "actor"),
    )


def _csv_lines(entries: QuerySet[Entry]) -> Iterator[str]:
    yield csv_lines([COLUMNS])
    for entry in entries.iterator():
        row = entry_document(entry) | {
            "details": json.dumps(entry.details, ensure_ascii=False, sort_keys=True)
        }
        yield csv_lines([[row[name] for name in COLUMNS]])


def _json_lines(entries: QuerySet[Entry]) -> Iterator[str]:
    separator = "[\n"
    for entry in entries.iterator():
        yield separator + json.dumps(entry_document(entry), ensure_ascii=False)
        separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[]\n"
