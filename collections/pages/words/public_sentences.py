"""Entries of the public log as public sentences: what their leaves show, so no actor."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from log.audit.models import Entry
from log.audit.registry import action_title, shown_details
from pages.words.log_sentences import attributes_in_words, budget_in_words
from pages.words.subjects import Subjects
from web.numbers import number


@dataclass(frozen=True)
class PublicEntry:
    """One entry, ready to be shown publicly.

    Attributes:
        index: from 1; its place in the tree is one less.
        action: name, and `title` in words.
        sentence: what happened, with links.
        identifier: of the recipe that it is about; else empty.
        commitment: hash of the entry.
    """

    index: int
    at: datetime
    action: str
    title: str
    sentence: SafeString
    identifier: str
    commitment: str


def told_publicly(entries: Iterable[Entry]) -> list[PublicEntry]:
    """Entries of public actions as sentences, in their order."""
    shown = [_shown(entry) for entry in entries]
    subjects = Subjects.of(shown)
    told = []
    for entry in shown:
        what = subjects.in_words(entry, drafts=False)
        told.append(
            PublicEntry(
                index=entry.index,
                at=entry.at,
                action=entry.action,
                title=action_title(entry.action),
                sentence=_SENTENCES.get(entry.action, _by_title)(entry, what),
                identifier=subjects.identifier(entry),
                commitment=entry.entry_hash,
            )
        )
    return told


def _shown(entry: Entry) -> Entry:
    """Only what the leaf has of an entry, so that no sentence can reveal more."""
    names = shown_details(entry.action) or ()
    return Entry(
        index=entry.index,
        at=entry.at,
        action=entry.action,
        subject=entry.subject,
        details={name: entry.details[name] for name in names if name in entry.details},
        entry_hash=entry.entry_hash,
    )


def _by_title(entry: Entry, what: SafeString) -> SafeString:
    return format_html("{}: {}.", action_title(entry.action), what)


def _published(entry: Entry, what: SafeString) -> SafeString:
    kind = "simulation" if entry.details.get("simulation") else "recipe"
    population = entry.details.get("population")
    if not population:
        return format_html("The {} {} was published.", kind, what)
    return format_html("The {} {} was published for the population “{}”.", kind, what, population)


def _released(entry: Entry, what: SafeString) -> SafeString:
    reports = entry.details.get("reports")
    if not isinstance(reports, int):
        return format_html("The result of {} was released.", what)
    return format_html("The result of {} was released, from {} reports.", what, number(reports))


def _budget_set(entry: Entry, what: SafeString) -> SafeString:
    return format_html("The budget of the population {} was set: {}.", what, budget_in_words(entry))


def _attributes_declared(entry: Entry, what: SafeString) -> SafeString:
    return format_html("Attributes of the population {} were declared: {}.", what, attributes_in_words(entry))


def _rounds_published(entry: Entry, _: SafeString) -> SafeString:
    name, rounds = entry.details.get("name"), entry.details.get("rounds")
    if not isinstance(name, str) or not isinstance(rounds, int):
        return format_html("A recipe in rounds was published: {}.", entry.subject)
    whose = ", for simulated devices" if entry.details.get("simulation") else ""
    return format_html("The recipe “{}” in {} rounds was published{}.", name, number(rounds), whose)


def _input_published(entry: Entry, _: SafeString) -> SafeString:
    return format_html("The public input of round {} was published.", entry.details.get("round", "–"))


def _simple(form: str) -> Callable[[Entry, SafeString], SafeString]:
    return lambda entry, what: format_html(form, what=what, subject=entry.subject)


_SENTENCES: dict[str, Callable[[Entry, SafeString], SafeString]] = {
    "recipe_published": _published,
    "attributes_declared": _attributes_declared,
    "budget_set": _budget_set,
    "hpke_key_introduced": _simple("Key {subject} for reports was introduced."),
    "signing_key_changed": _simple("The signing key of {subject} was changed."),
    "partner_key_introduced": _simple("The key of the {subject} was introduced."),
    "partner_key_retired": _simple("The key of the {subject} was retired."),
    "recipe_closed": _simple("The recipe {what} was closed."),
    "reports_sealed": _simple("The stored reports of {what} were sealed: they cannot change."),
    "list_accepted": _simple("The list of accepted reports of {what} was signed: they cannot change."),
    "result_released": _released,
    "verdict_filed": _simple("Others recomputed the result of {what}: its page Verify shows their verdict."),
    "result_held": _simple("The result of {what} is held: it has too many reports."),
    "result_allowed": _simple("The held result of {what} was allowed to pass."),
    "result_withheld": _simple("The result of {what} was withheld."),
    "intrusion_announced": _simple("The state of {what} was read, as announced here."),
    "series_published": _simple("The series {what} was published."),
    "rounds_published": _rounds_published,
    "round_input_published": _input_published,
    "series_stopped": _simple("The series {what} was stopped."),
    "series_marked": _simple("The series {what} was marked."),
    "series_round_skipped": _simple("A round of the series {what} was skipped."),
    "log_renamed": _simple("The log lost entries, and goes on under a new name, {subject}."),
    "ohttp_key_introduced": _simple("Key {subject} for requests through relays was introduced."),
}
"""By the action's name; others are shown by their titles."""
