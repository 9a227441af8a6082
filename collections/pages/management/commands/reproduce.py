"""`reproduce`: the papers' numbers, computed again and compared with the printed values."""

import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pages.charts.plotly import plotly_figure
from pages.papers.figures import described
from pages.papers.papers import claim_row
from research import stored_document
from research.reproduction import results
from research.statements import Statement

DIFFERENT = 1
INPUT_ERROR = 2

TITLE_ROOM = 30

# A file has no style sheet: the light colours of site.css.
COLOURS = {
    "baseline": "#cc79a7",
    "baseline-targeted": "#009e73",
    "aggregated": "#d55e00",
    "sampled": "#0072b2",
    "measured": "#000000",
}


class Command(BaseCommand):
    help = (
        "Compute the papers' numbers and figures again and compare them with the printed ones. Exit code 1 "
        "if a statement does not hold, or a number differs from the stored one."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document and no progress")
        parser.add_argument("--figures", type=Path, metavar="DIR", help="write each figure as an HTML file")
        parser.add_argument(
            "--write", action="store_true", help="store the document that the page of the papers reads"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        quiet = options["json"]
        directory: Path | None = options["figures"]
        if directory is not None:
            try:
                directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise CommandError(f"figures: {error}", returncode=INPUT_ERROR) from None
        try:
            claims, figures = results.compute(lambda text: None if quiet else self.stderr.write(f"  {text}"))
        except ModuleNotFoundError as error:
            raise CommandError(
                f"reproduce needs the package {error.name}: `pip install -r requirements-dev.txt`",
                returncode=INPUT_ERROR,
            ) from None
        document = results.document_of(claims, figures)
        problems = [_unexpected(claim) for claim in claims if not claim.as_expected]
        if options["write"]:
            results.FILE.write_text(stored_document.text_of(document), encoding="utf-8")
        else:
            problems += _moved(document)
        if options["json"]:
            self.stdout.write(json.dumps({**document, "problems": problems}, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_table(document["claims"])))
        if directory is not None:
            for figure in document["figures"]:
                path = directory / f"{figure['key']}.html"
                path.write_text(_html(figure), encoding="utf-8")
                if not quiet:
                    self.stderr.write(f"  wrote {path}")
        if problems:
            raise CommandError("\n".join(problems), returncode=DIFFERENT)


def _unexpected(claim: Statement) -> str:
    said = {True: "to agree", False: "not to agree", None: "not to be comparable"}[claim.expected]
    found = f"said {said} with the printed {claim.printed!r}, got {claim.value:g}"
    return f"{claim.place}, {claim.quantity}: {found}"


def _moved(document: Mapping[str, Any]) -> list[str]:
    try:
        before = results.committed()
    except FileNotFoundError:
        return ["nothing is stored yet: run `manage.py reproduce --write`"]
    # Other libraries may well give the same numbers: their versions are no number.
    moved = stored_document.differences(
        {name: before[name] for name in ("claims", "figures")},
        {name: document[name] for name in ("claims", "figures")},
    )
    return [f"moved from the stored value: {place}" for place in moved]


def _table(claims: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """One block per claim: printed, computed and verdict in columns, the words below them."""
    paper = ""
    for claim in claims:
        if claim["paper"] != paper:
            paper = claim["paper"]
            yield f"\n{paper}\n{'=' * len(paper)}\n"
            yield f"{'where':<24}{'printed':<18}{'computed':<14}verdict"
            yield "-" * 66
        row = claim_row(claim)
        yield f"{row.place:<24}{row.printed:<18}{row.computed:<14}{row.verdict}".rstrip()
        words = [f"{row.quantity}{f' ({row.terms})' if row.terms else ''}", f"by {row.method}", row.why]
        for text in filter(None, words):
            yield from textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="      ")
        yield ""


def _html(figure: Mapping[str, Any]) -> str:
    """A page with plotly.js inside, which needs nothing else."""
    import plotly.io

    drawn = plotly_figure(described(figure))
    for trace in drawn["data"]:
        for part in {"line", "marker"} & trace.keys():
            trace[part]["color"] = COLOURS[trace["meta"]]
    drawn["layout"]["title"] = {"text": f"{figure['title']}: {figure['paper']}", "y": 1, "yref": "container"}
    drawn["layout"]["margin"]["t"] += TITLE_ROOM
    drawn["layout"]["height"] += TITLE_ROOM
    html: str = plotly.io.to_html(
        drawn, include_plotlyjs=True, validate=False, div_id=figure["key"], config={"displaylogo": False}
    )
    caption = f"<p>{figure['caption']} {figure['choices']}</p>"
    return html.replace("<html>", '<html lang="en">').replace("</body>", f"{caption}</body>")
