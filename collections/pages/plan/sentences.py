"""The answers of a plan, in sentences."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pages.words.certainty import epsilon_text, gain_sentence
from panprivacy.planning.plan import Question
from panprivacy.planning.proposal import Proposal
from panprivacy.statistics.events.cohort import CohortStatistic
from web.numbers import number, significant

NAMED = {
    "epsilon": "a privacy loss of ε = {}",
    "population_size": "a population of {}",
    "sampling_rate": "a sampling rate of {}",
    "cohort_size": "a cohort size of {}",
}

AT_MOST_SHOWN = 3
"""Alternatives named in one sentence."""

_STATES = {
    "computing": "Computing … The rest follows.",
    "busy": "Many plans are being computed. Ask again in a minute for the rest.",
    "no_worker": "No worker has answered, so the slower figures are missing. Those shown here are complete.",
    "too_long": "The rest took too long to compute. Ask again in five minutes for it.",
}


def headline(mechanism: type[CohortStatistic[Any]], plan: Mapping[str, Any]) -> str:
    """The expected error, in one sentence; if a result is unlikely, why, and which cohort would do."""
    expectation = plan["expectation"]
    return expectation["warning"] or f"Expect {margin_text(mechanism, expectation)}."


def segments_sentence(expectation: Mapping[str, Any], count: int) -> str:
    """What to expect of each segment; empty if it asks by none."""
    expected = expectation["segments"]
    if expected is None:
        return ""
    said = (
        f"If all {count} are equally large, about {number(round(expected['devices']))} devices each. The "
        f"share within one comes to ± {significant(expected['margin_points'])} points, all of them at once. "
    )
    if expected["shown"]:
        return f"{said}Each surely has a cohort of its own, and is shown."
    return f"{said}They may not be shown: none surely has a cohort of its own."


def learned(plan: Mapping[str, Any], delta: float) -> str:
    """What a reader of the result can learn at the recipe's δ, in one sentence."""
    epsilon = plan["epsilons"]["aggregator"]
    if epsilon is None:
        return "What someone can learn who sees only the combined result is not computed yet."
    return gain_sentence(
        "Someone who sees only the combined result",
        epsilon,
        "of a guess about one device",
        f" (privacy loss ε = {epsilon_text(epsilon)}, {terms(delta)})",
    )


def terms(delta: float) -> str:
    """What every ε against readers of the combined result is for: "δ = 1e-6, under replacement"."""
    return f"δ = {number(delta)}, under replacement"


def margin_text(mechanism: type[CohortStatistic[Any]], expectation: Mapping[str, Any]) -> str:
    """± 190 devices (± 1.9 points)."""
    text = f"± {significant(expectation['margin'])} {mechanism.unit}"
    points = expectation["margin_points"]
    return text if points is None else f"{text} (± {significant(points)} points)"


def wanted_text(mechanism: type[CohortStatistic[Any]], question: Question) -> str:
    """± 2 points at a privacy loss of the result of ε = 1 (δ = 1e-6, under replacement)."""
    targets = question.targets
    if targets is None:
        return ""
    parts = []
    if targets.margin is not None:
        unit = "points" if mechanism.counts_devices else mechanism.unit
        parts.append(f"± {number(targets.margin)} {unit}")
    if targets.aggregator_epsilon is not None and targets.aggregator_delta is not None:
        of_result = number(targets.aggregator_epsilon)
        parts.append(f"a privacy loss of the result of ε = {of_result} ({terms(targets.aggregator_delta)})")
    return " at ".join(parts)


def solution_sentence(
    mechanism: type[CohortStatistic[Any]], question: Question, solution: Mapping[str, Any]
) -> str:
    """The answer to the question in one or two sentences."""
    wanted = wanted_text(mechanism, question)
    unknown = solution["unknown"]
    if solution["found"]:
        answer = f"For {wanted}, choose {_named(unknown, solution['value'])}."
        low, high = solution["lowest"], solution["highest"]
        return answer if low == high else f"{answer} Any value from {number(low)} to {number(high)} would do."
    closest = question.proposal.from_mapping(solution["closest"])
    nearest = f"With {_named(unknown, closest.value(unknown))}, {_shortfall(mechanism, closest, solution)}"
    changes = [_changes(alternative["changes"]) for alternative in solution["alternatives"]]
    if not changes:
        return f"No {_bare(unknown)} gives {wanted}. {nearest}; no change of one more parameter helps."
    would = "; or ".join(changes[:AT_MOST_SHOWN])
    return f"No {_bare(unknown)} gives {wanted}. {nearest}. It would be met with {would}."


def rest_sentence(state: str) -> str:
    """The message for an incomplete plan; empty if it is complete."""
    return _STATES.get(state, "")


def _bare(name: str) -> str:
    return {"epsilon": "privacy loss (ε)"}.get(name, name.replace("_", " "))


def _named(name: str, value: float) -> str:
    return NAMED[name].format(number(value))


def _changes(changes: Mapping[str, float]) -> str:
    return " and ".join(_named(name, value) for name, value in changes.items())


def _shortfall(mechanism: type[CohortStatistic[Any]], closest: Proposal, solution: Mapping[str, Any]) -> str:
    expectation = solution["expectation"]
    said: Mapping[str, Callable[[], str]] = {
        "margin": lambda: f"the margin is {margin_text(mechanism, expectation)}",
        "cohort": lambda: "the cohort size is " + _reached(expectation["reports"]["cohort_probability"]),
        "aggregator": lambda: _aggregator(solution["epsilons"]["aggregator"], closest.parameters.delta),
        "mechanism": lambda: "devices would have to add more noise than can be decrypted",
    }
    return _joined(said[name]() for name in solution["unmet"])


def _aggregator(epsilon: float | None, delta: float) -> str:
    if epsilon is None:
        return "no privacy loss of the result is known"
    return f"the privacy loss of the result is ε = {epsilon_text(epsilon)} ({terms(delta)})"


def _reached(probability: float) -> str:
    if probability < 0.0005:
        return "not reached"
    return f"reached with a probability of only {significant(100 * probability)}%"


def _joined(parts: Iterable[str]) -> str:
    return " and ".join(parts)
