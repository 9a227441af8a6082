"""Curves of a plan as charts and as tables. Dashes and shapes distinguish lines, not colours alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from pages.charts.shown import ShownChart, shown_chart
from pages.words.certainty import certain_share, epsilon_text
from panprivacy.planning.proposal import Proposal
from panprivacy.statistics.events.cohort import CohortStatistic
from web.numbers import number, significant

ROLES = ("line-1", "line-2", "line-3", "line-4")
DASHES = ("solid", "dash", "dot", "dashdot")

Values = Sequence[float | None]

ALONE, STACKED = 240, 170
"""Height of a single panel, and of one of two."""


@dataclass(frozen=True)
class ChartSection:
    """One chart with its words and its numbers.

    Attributes:
        key: fit for an identifier of the page.
        title, caption: for people.
        panels: what is drawn, from above.
        columns, rows: the table with the same numbers.
    """

    key: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def chart(self) -> ShownChart:
        """For the page."""
        height = ALONE if len(self.panels) == 1 else STACKED
        described = Chart(title=self.title, description=self.caption, panels=self.panels, height=height)
        return shown_chart(described, self.key)


def charts_of(
    mechanism: type[CohortStatistic[Any]], proposal: Proposal, plan: dict[str, Any]
) -> list[ChartSection]:
    """Every chart whose curves are computed."""
    margins, by_epsilon = plan["curves"]["margin"], plan["curves"]["margin_by_epsilon"]
    epsilons = plan["curves"]["epsilon"]
    unit = "percentage points" if mechanism.counts_devices else mechanism.unit
    charts = []
    if by_epsilon is not None:
        charts.append(_error_by_cohort(unit, proposal, by_epsilon, plan["expectation"]))
    if "epsilon" in margins and "epsilon" in epsilons:
        charts.append(_epsilon_against_error(unit, proposal, margins["epsilon"], epsilons["epsilon"]))
    if "cohort_size" in epsilons and any(map(any, _privacy_columns(epsilons["cohort_size"]))):
        charts.append(_epsilon_by_cohort(proposal, epsilons["cohort_size"]))
    if "sampling_rate" in margins and "sampling_rate" in epsilons:
        charts.append(_by_sampling_rate(unit, proposal, margins["sampling_rate"], epsilons["sampling_rate"]))
    return charts


def _error_by_cohort(
    unit: str, proposal: Proposal, curves: list[dict[str, Any]], expectation: dict[str, Any]
) -> ChartSection:
    own = proposal.parameters.cohort_size
    traces = [
        _line(f"ε = {number(curve['epsilon'])}", position, curve["values"], curve["margins"])
        for position, curve in enumerate(curves)
    ]
    (current,) = (curve for curve in curves if curve["epsilon"] == proposal.parameters.epsilon)
    traces.append(_mark("just the cohort", current["values"], current["margins"], own))
    points = expectation["margin_points"]
    expected = expectation["margin"] if points is None else points
    reports, circle = expectation["reports"]["mean"], ""
    if not expectation["warning"]:
        traces.append(_mark("as expected", [reports], [expected], reports, symbol="circle-open"))
        circle = f"Circle: the {number(round(reports))} reports to expect, ± {significant(expected)}. "
    return ChartSection(
        key="error-by-cohort",
        title="Error against cohort size",
        caption=f"95% margin in {unit} by the number of devices that report, for several values of the "
        f"privacy loss (ε). {circle}Diamond: just the cohort size of {number(own)}, the least precise "
        "result that would be released.",
        panels=(_panel(traces, _log("Reports in the result (cohort size)"), _log(f"± {unit}")),),
        columns=("Cohort size", *(f"± {unit}, ε = {number(curve['epsilon'])}" for curve in curves)),
        rows=_rows(curves[0]["values"], *(curve["margins"] for curve in curves)),
    )


def _epsilon_against_error(
    unit: str, proposal: Proposal, errors: dict[str, Any], epsilons: dict[str, Any]
) -> ChartSection:
    own = proposal.parameters.epsilon
    values = errors["values"]
    of_report, of_result = _percent_sure(epsilons["local"]), _percent_sure(epsilons["aggregator"])
    lower = [
        _line("reader of one report", 1, values, of_report),
        _line("reader of the result", 2, values, of_result),
    ]
    upper = [
        _line("95% margin", 0, values, errors["margins"]),
        _mark("this plan", values, errors["margins"], own),
    ]
    across = _log("Privacy loss (ε) of the recipe")
    sure = Axis(title="% sure", low=48.0, high=101.0)
    return ChartSection(
        key="epsilon-against-error",
        title="Precision and privacy by privacy loss (ε)",
        caption=f"Above: the 95% margin in {unit}. Below: how sure an observer can become which of two "
        "equally likely answers one device gave, in percent (50 is a guess); a reader of the result apart "
        "from the recipe's δ, under replacement.",
        # Two panels over one horizontal axis, never two scales in one panel.
        panels=(
            _panel(upper, across, _log(f"± {unit}")),
            _panel([line for line in lower if any(y is not None for y in line.y)], across, sure),
        ),
        columns=(
            "Privacy loss (ε)",
            f"± {unit}",
            "Reader of one report: % sure",
            "Reader of the result: % sure",
        ),
        rows=_rows(values, errors["margins"], of_report, of_result),
    )


def _epsilon_by_cohort(proposal: Proposal, curve: dict[str, Any]) -> ChartSection:
    own = proposal.parameters.cohort_size
    sampled = proposal.parameters.sampling_rate < 1
    return ChartSection(
        key="epsilon-by-cohort",
        title="Privacy of the result against cohort size",
        caption="Privacy loss (ε) to someone who sees only the combined result: under replacement, at the "
        "recipe's δ, without collusion." + (" Sampled holds if participation is unknown." if sampled else ""),
        panels=(_panel(_privacy_lines(curve, own), _log("Cohort size"), _log("Privacy loss (ε)")),),
        columns=("Cohort size", "Privacy loss (ε)", "Privacy loss (ε), sampled")[: 3 if sampled else 2],
        rows=_rows(curve["values"], *_privacy_columns(curve)[: 2 if sampled else 1], epsilons=True),
    )


def _by_sampling_rate(
    unit: str, proposal: Proposal, errors: dict[str, Any], epsilons: dict[str, Any]
) -> ChartSection:
    own = proposal.parameters.sampling_rate
    values = errors["values"]
    margins = [
        _line("95% margin", 0, values, errors["margins"]),
        _mark("this plan", values, errors["margins"], own),
    ]
    lines = _privacy_lines(epsilons, own, first=1)
    x, y = _log("Sampling rate"), _log(f"± {unit}")
    caption = f"95% margin in {unit} by the share of devices that take part."
    panels = [_panel(margins, x, y)]
    if lines:
        caption = (
            f"Above: {caption} Below: privacy loss (ε) to someone who sees only the combined result, under "
            "replacement, at the recipe's δ. Sampled holds if participation is unknown."
        )
        panels.append(_panel(lines, x, _log("Privacy loss (ε)")))
    of_error = _rows(values, errors["margins"])
    of_privacy = _rows(values, *_privacy_columns(epsilons), epsilons=True)
    return ChartSection(
        key="by-sampling-rate",
        title="Sampling rate",
        caption=caption,
        panels=tuple(panels),
        columns=("Sampling rate", f"± {unit}", "Privacy loss (ε)", "Privacy loss (ε), sampled"),
        rows=tuple((*first, *second[1:]) for first, second in zip(of_error, of_privacy, strict=True)),
    )


def _percent_sure(epsilons: Values) -> Values:
    return [None if epsilon is None else 100 * certain_share(epsilon) for epsilon in epsilons]


def _privacy_columns(curve: dict[str, Any]) -> tuple[Values, Values]:
    return curve["aggregator"], curve["sampled"]


def _privacy_lines(curve: dict[str, Any], own: float, first: int = 0) -> list[Series]:
    named = zip(("combined result", "sampled"), _privacy_columns(curve), strict=True)
    lines = [
        _line(name, position, curve["values"], _positive(column))
        for position, (name, column) in enumerate(named, start=first)
        if any(column)
    ]
    if lines:
        lines.append(_mark("this plan", curve["values"], lines[0].y, own))
    return lines


def _positive(column: Values) -> Values:
    # A logarithmic axis has no zero; the table does.
    return [value or None for value in column]


def _line(name: str, position: int, x: Values, y: Values) -> Series:
    return Series(name=name, role=ROLES[position], width=2.5, dash=DASHES[position], x=x, y=y)


def _mark(name: str, x: Values, y: Sequence[Value], own: float, symbol: str = "diamond-open") -> Series:
    place = list(x).index(own)
    return Series(name=name, role="current", symbol=symbol, size=13, x=[x[place]], y=[y[place]])


def _log(title: str) -> Axis:
    return Axis(title=title, scale=Scale.LOG)


def _panel(series: list[Series], x: Axis, y: Axis) -> Panel:
    return Panel(x=x, y=y, series=tuple(series))


def _rows(values: Values, *columns: Values, epsilons: bool = False) -> tuple[tuple[str, ...], ...]:
    shown = _epsilon if epsilons else _margin
    return tuple(
        (number(value), *(shown(column[place]) for column in columns)) for place, value in enumerate(values)
    )


def _margin(value: float | None) -> str:
    return "–" if value is None else significant(value, 3)


def _epsilon(value: float | None) -> str:
    return "not computed" if value is None else epsilon_text(value)
