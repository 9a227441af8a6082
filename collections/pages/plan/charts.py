"""Curves of a plan as charts (plain dictionaries for the one static script) and as tables.

No colour stands here: every trace names its role in `meta`. Dashes and shapes tell lines apart as well.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pages.words.certainty import certain_share, epsilon_text
from panprivacy.mechanisms.interface import Mechanism
from panprivacy.planning.proposal import Proposal
from web.numbers import number, significant

ROLES = ("line-1", "line-2", "line-3", "line-4")
DASHES = ("solid", "dash", "dot", "dashdot")

Values = Sequence[float | None]

_LAYOUT: dict[str, Any] = {
    "margin": {"l": 60, "r": 16, "t": 10, "b": 50},
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "hovermode": "closest",
}


@dataclass(frozen=True)
class Chart:
    """One chart with its words and its numbers.

    Attributes:
        key: fit for an identifier of the page.
        title, caption: for people.
        figure: JSON for the script.
        columns, rows: the table that says the same.
    """

    key: str
    title: str
    caption: str
    figure: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def charts_of(mechanism: type[Mechanism[Any]], proposal: Proposal, plan: dict[str, Any]) -> list[Chart]:
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
) -> Chart:
    own = proposal.parameters.cohort_size
    traces = [
        _line(f"ε = {number(curve['epsilon'])}", position, curve["values"], curve["margins"])
        for position, curve in enumerate(curves)
    ]
    (current,) = (curve for curve in curves if curve["epsilon"] == proposal.parameters.epsilon)
    traces.append(_mark("just the cohort", current["values"], current["margins"], own))
    points = expectation["margin_points"]
    expected = expectation["margin"] if points is None else points
    reports = expectation["reports"]["mean"]
    traces.append(_mark("as expected", [reports], [expected], reports, symbol="circle-open"))
    return Chart(
        key="error-by-cohort",
        title="Error against cohort size",
        caption=f"95% margin in {unit} by the number of devices that report, for several values of the "
        f"privacy loss (ε). Circle: the {number(round(reports))} reports to expect, "
        f"± {significant(expected)}. Diamond: just the cohort size of {number(own)}, the least precise "
        "result that would be released.",
        figure=_figure(traces, _log("Reports in the result (cohort size)"), _log(f"± {unit}")),
        columns=("Cohort size", *(f"± {unit}, ε = {number(curve['epsilon'])}" for curve in curves)),
        rows=_rows(curves[0]["values"], *(curve["margins"] for curve in curves)),
    )


def _epsilon_against_error(
    unit: str, proposal: Proposal, errors: dict[str, Any], epsilons: dict[str, Any]
) -> Chart:
    own = proposal.parameters.epsilon
    values = errors["values"]
    of_report, of_result = _percent_sure(epsilons["local"]), _percent_sure(epsilons["aggregator"])
    lower = [
        _line("reader of one report", 1, values, of_report, axis="y2"),
        _line("reader of the result", 2, values, of_result, axis="y2"),
    ]
    traces = [
        _line("95% margin", 0, values, errors["margins"]),
        *(line for line in lower if any(y is not None for y in line["y"])),
        _mark("this plan", values, errors["margins"], own),
    ]
    layout = _stacked(
        _log("Privacy loss (ε) of the recipe"), _log(f"± {unit}"), _linear("% sure", (48.0, 101.0))
    )
    return Chart(
        key="epsilon-against-error",
        title="Precision and privacy by privacy loss (ε)",
        caption=f"Above: the 95% margin in {unit}. Below: how sure an observer can become which of two "
        "equally likely answers one device gave, in percent (50 is a guess); a reader of the result apart "
        "from the recipe's δ, under replacement.",
        figure=_dump(traces, layout),
        columns=(
            "Privacy loss (ε)",
            f"± {unit}",
            "Reader of one report: % sure",
            "Reader of the result: % sure",
        ),
        rows=_rows(values, errors["margins"], of_report, of_result),
    )


def _epsilon_by_cohort(proposal: Proposal, curve: dict[str, Any]) -> Chart:
    own = proposal.parameters.cohort_size
    sampled = proposal.parameters.sampling_rate < 1
    return Chart(
        key="epsilon-by-cohort",
        title="Privacy of the result against cohort size",
        caption="Privacy loss (ε) to someone who sees only the combined result: under replacement, at the "
        "recipe's δ, with nobody colluding."
        + (" Sampled holds where nobody knows who took part." if sampled else ""),
        figure=_figure(_privacy_lines(curve, own), _log("Cohort size"), _log("Privacy loss (ε)")),
        columns=("Cohort size", "Privacy loss (ε)", "Privacy loss (ε), sampled")[: 3 if sampled else 2],
        rows=_rows(curve["values"], *_privacy_columns(curve)[: 2 if sampled else 1], epsilons=True),
    )


def _by_sampling_rate(
    unit: str, proposal: Proposal, errors: dict[str, Any], epsilons: dict[str, Any]
) -> Chart:
    own = proposal.parameters.sampling_rate
    values = errors["values"]
    margins = [
        _line("95% margin", 0, values, errors["margins"]),
        _mark("this plan", values, errors["margins"], own),
    ]
    lines = _privacy_lines(epsilons, own, first=1)
    x, y = _log("Sampling rate"), _log(f"± {unit}")
    caption = f"95% margin in {unit} by the share of devices that take part."
    if lines:
        caption = (
            f"Above: {caption} Below: privacy loss (ε) to someone who sees only the combined result, under "
            "replacement, at the recipe's δ. Sampled holds where nobody knows who took part."
        )
        # The mark is in the legend once.
        below = [{**line, "yaxis": "y2", "showlegend": line["meta"] != "current"} for line in lines]
        figure = _dump([*margins, *below], _stacked(x, y, _log("Privacy loss (ε)")))
    else:
        figure = _figure(margins, x, y)
    of_error = _rows(values, errors["margins"])
    of_privacy = _rows(values, *_privacy_columns(epsilons), epsilons=True)
    return Chart(
        key="by-sampling-rate",
        title="Sampling rate",
        caption=caption,
        figure=figure,
        columns=("Sampling rate", f"± {unit}", "Privacy loss (ε)", "Privacy loss (ε), sampled"),
        rows=tuple((*first, *second[1:]) for first, second in zip(of_error, of_privacy, strict=True)),
    )


def _percent_sure(epsilons: Values) -> Values:
    return [None if epsilon is None else 100 * certain_share(epsilon) for epsilon in epsilons]


def _privacy_columns(curve: dict[str, Any]) -> tuple[Values, Values]:
    return curve["aggregator"], curve["sampled"]


def _privacy_lines(curve: dict[str, Any], own: float, first: int = 0) -> list[dict[str, Any]]:
    named = zip(("combined result", "sampled"), _privacy_columns(curve), strict=True)
    lines = [
        _line(name, position, curve["values"], _positive(column))
        for position, (name, column) in enumerate(named, start=first)
        if any(column)
    ]
    if lines:
        lines.append(_mark("this plan", curve["values"], lines[0]["y"], own))
    return lines


def _positive(column: Values) -> Values:
    # A logarithmic axis has no zero; the table does.
    return [value or None for value in column]


def _line(name: str, position: int, x: Values, y: Values, axis: str = "y") -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "meta": ROLES[position],
        "line": {"width": 2.5, "dash": DASHES[position]},
        "x": list(x),
        "y": list(y),
        "yaxis": axis,
    }


def _mark(name: str, x: Values, y: Values, own: float, symbol: str = "diamond-open") -> dict[str, Any]:
    place = list(x).index(own)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "meta": "current",
        "marker": {"symbol": symbol, "size": 13, "line": {"width": 2.5}},
        "x": [x[place]],
        "y": [y[place]],
    }


def _log(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "type": "log",
        "automargin": True,
        "dtick": 1,
        "exponentformat": "none",
        "tickformat": ",~r",
    }


def _linear(title: str, shown: tuple[float, float]) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 8}, "range": list(shown), "automargin": True}


def _figure(traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any]) -> str:
    return _dump(traces, {**_LAYOUT, "height": 340, "xaxis": x, "yaxis": y})


def _stacked(x: dict[str, Any], upper: dict[str, Any], lower: dict[str, Any]) -> dict[str, Any]:
    """Two panels over one horizontal axis, never two scales in one panel."""
    return {
        **_LAYOUT,
        "height": 480,
        "xaxis": {**x, "anchor": "y2"},
        "yaxis": {**upper, "domain": [0.55, 1]},
        "yaxis2": {**lower, "domain": [0, 0.45]},
    }


def _dump(traces: list[dict[str, Any]], layout: dict[str, Any]) -> str:
    return json.dumps({"data": traces, "layout": layout}, allow_nan=False)


def _rows(values: Values, *columns: Values, epsilons: bool = False) -> tuple[tuple[str, ...], ...]:
    shown = _epsilon if epsilons else _margin
    return tuple(
        (number(value), *(shown(column[place]) for column in columns)) for place, value in enumerate(values)
    )


def _margin(value: float | None) -> str:
    return "–" if value is None else significant(value, 3)


def _epsilon(value: float | None) -> str:
    return "not computed" if value is None else epsilon_text(value)
