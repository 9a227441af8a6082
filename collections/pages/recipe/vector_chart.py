"""The chart of a vector with many coordinates: each at its place, with all intervals as one band."""

from collections.abc import Sequence

from pages.charts.description import Axis, Chart, Panel, Series, Value
from pages.recipe.presentation import headline, level_text, name_of
from recipes.models import Recipe
from results.excerpt import excerpt_of, interval_of
from results.models import Release, SimulatedTruth
from storage.columns import stored

DOT, SMALL_DOT = 5, 3
"""Size of an estimate's mark, and its size if there are more than `FEW`."""

FEW = 200

TRUTH_NAME = "truth (simulation only)"

ROOM = 0.06
"""Beyond the outermost interval, as a share of the range."""


def vector_chart(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> Chart:
    """All coordinates by their place, however many: the band is where all truths lie together."""
    statistic, excerpt = recipe.published.calibrated_statistic, excerpt_of(release)
    values: list[float] = stored(release.values)
    places = [float(place) for place in range(1, len(values) + 1)]
    size = SMALL_DOT if len(values) > FEW else DOT
    series, shown = [], [0.0, *values]
    interval = interval_of(release)
    if interval is not None:
        name = name_of(excerpt, interval)
        for end, named in ((interval.low, True), (interval.high, False)):
            series.append(_steps(name, "interval-95", end, in_legend=named))
            shown += [reach for reach in end if reach is not None]
    marks = [("estimate", "estimate", values)]
    if truth is not None:
        # On top: it lies among the estimates, and is thinner than they are spread.
        marks.append((TRUTH_NAME, "truth", truth.values))
        shown += truth.values
    series += [
        Series(name=name, role=role, symbol="circle", size=size, x=places, y=numbers)
        for name, role, numbers in marks
    ]
    low, high = min(shown), max(shown)
    room = ROOM * (high - low) or 1.0
    said = headline(recipe, release)
    level = "" if interval is None else f" ({level_text(excerpt, interval)})"
    return Chart(
        title=recipe.question,
        description=f"{said.text}{level}.",
        panels=(
            Panel(
                x=Axis(title="coordinate", low=0.0, high=len(values) + 1.0),
                y=Axis(title=statistic.unit, low=low - room, high=high + room),
                series=tuple(series),
            ),
        ),
        height=280,
    )


def _steps(name: str, role: str, ends: Sequence[float | None], *, in_legend: bool) -> Series:
    """A thin line that stays at each end for the width of its place."""
    x: list[Value] = []
    y: list[Value] = []
    for place, end in enumerate(ends, start=1):
        x += [place - 0.5, place + 0.5]
        y += [end, end]
    return Series(name=name, role=role, width=1, x=x, y=y, in_legend=in_legend)
