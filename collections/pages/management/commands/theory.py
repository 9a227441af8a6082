"""`theory`: the theorems' claims, each shown by an attack, a measured error or a bound."""

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pages.papers.figures import FigureSection
from pages.papers.theory import TheorySection, theory_section
from research import stored_document
from research.theory import DEMONSTRATIONS, results

INPUT_ERROR = 2


class Command(BaseCommand):
    help = (
        "Show the theorems by simulations and bounds. Computes all of them again, in one to two minutes. The "
        "page /theory/ shows stored numbers at once. Needs no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help=f"what to show, of {', '.join(DEMONSTRATIONS)}; else all"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document and no progress")
        parser.add_argument(
            "--seed", type=int, default=results.SEED, help="of the simulations (default: %(default)s)"
        )
        parser.add_argument(
            "--write", action="store_true", help="store the document that the page of the theory reads"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        names, quiet = options["names"], options["json"]
        for name in names:
            if name not in DEMONSTRATIONS:
                message = f"name: must be one of {', '.join(DEMONSTRATIONS)}, not {name!r}"
                raise CommandError(message, returncode=INPUT_ERROR)
        if options["write"] and names:
            raise CommandError(
                "write: stores all demonstrations; leave the names out", returncode=INPUT_ERROR
            )
        demonstrations = results.compute(
            names or list(DEMONSTRATIONS),
            options["seed"],
            lambda name: None if quiet else self.stderr.write(f"  {name}"),
        )
        document = results.document_of(demonstrations)
        if options["write"]:
            results.FILE.write_text(stored_document.text_of(document), encoding="utf-8")
        if quiet:
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            for demonstration in document["demonstrations"]:
                self.stdout.write("\n".join(_lines(demonstration)))


def _lines(demonstration: Mapping[str, Any]) -> Iterable[str]:
    """One demonstration as text."""
    section: TheorySection = theory_section(demonstration)
    yield f"\n{section.title}\n{'=' * len(section.title)}"
    yield from textwrap.wrap(section.sentence, 96)
    for figure in section.figures:
        yield ""
        yield from _table(figure)
    if section.facts:
        yield ""
        yield from _aligned([(fact.quantity, fact.value, fact.standing) for fact in section.facts])
    yield ""
    for heading, text in (
        ("measured", f"{section.measured} Simulation, seed {section.seed}."),
        ("proved", section.proved),
        ("source", section.source),
    ):
        yield from textwrap.wrap(f"{heading}: {text}", 96, subsequent_indent="  ")


def _table(figure: FigureSection) -> Iterable[str]:
    yield f"{figure.title} ({figure.y_title})"
    heads = [column.name for column in figure.columns]
    standings = [column.standing for column in figure.columns]
    rows = [(row.x, *row.y) for row in figure.rows]
    yield from _aligned([(figure.x_title, *heads), ("", *standings), *rows])


def _aligned(rows: list[tuple[str, ...]]) -> Iterable[str]:
    """Rows in columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join(["", *cells]).rstrip()
