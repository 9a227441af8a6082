"""The timeline of the public log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from log.audit.models import Entry
from pages.charts.description import Axis, Chart, Link, Panel, Scale, Series
from pages.words.subjects import Subjects

SPENT = "Spent"

KINDS = {
    "Published": ("recipe_published", "series_published", "rounds_published"),
    "Closed": ("recipe_closed",),
    "Released": ("result_released",),
    "Withheld": ("result_withheld",),
    "Announced": ("intrusion_announced",),
    SPENT: (),
}
"""Row of the timeline → actions in it. What was spent comes from the populations' books."""

_LOOKS = (
    ("line-1", "circle"),
    ("line-5", "square"),
    ("line-3", "diamond"),
    ("line-2", "x"),
    ("line-4", "triangle-up"),
    ("spent", "circle-open"),
)
_SIZE = 11
_ROW = 44
"""Pixels of height for each row."""


@dataclass(frozen=True)
class Moment:
    """Something in a row of the timeline."""

    kind: str
    at: datetime
    link: Link | None = None


def moments_of(entries: Iterable[Entry], spent: Iterable[tuple[str, datetime]]) -> list[Moment]:
    """What the timeline shows of these entries, and of the times at which their recipes spent something.

    Args:
        spent: identifier of a recipe, and when it spent.
    """
    kind_of = {action: kind for kind, actions in KINDS.items() for action in actions}
    shown = [entry for entry in entries if entry.action in kind_of]
    subjects = Subjects.of(shown)

    def moment(kind: str, subject: str, at: datetime) -> Moment:
        page = subjects.page(subject)
        link = None if page is None else Link(page.address, f"{kind}: {page.name}")
        return Moment(kind, at, link)

    logged = [moment(kind_of[entry.action], entry.subject, entry.at) for entry in shown]
    return [*logged, *(moment(SPENT, recipe, at) for recipe, at in spent)]


def timeline_chart(moments: Sequence[Moment]) -> Chart | None:
    """When each of these happened, a row for each kind of them; None if there are none."""
    series = [
        Series(
            name=kind,
            role=role,
            symbol=symbol,
            size=_SIZE,
            x=[moment.at for moment in moments if moment.kind == kind],
            y=[kind for moment in moments if moment.kind == kind],
            in_legend=False,
            links=[moment.link for moment in moments if moment.kind == kind],
        )
        for kind, (role, symbol) in zip(KINDS, _LOOKS, strict=True)
    ]
    drawn = tuple(one for one in series if one.x)
    if not drawn:
        return None
    rows = tuple(one.name for one in reversed(drawn))
    return Chart(
        title="Timeline of the public log",
        description="When recipes were published and closed, results released and withheld, intrusions "
        "announced, and privacy budgets spent: the entries of this page. Each mark leads to its recipe or "
        "series. The tables have the same by recipe and by entry.",
        panels=(
            Panel(x=Axis(scale=Scale.TIME), y=Axis(scale=Scale.CATEGORY, categories=rows), series=drawn),
        ),
        height=_ROW * len(rows),
    )
