"""All figures of a proposal, computed in order of their cost until the caller's time is over."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import IntEnum
from typing import Any, Self

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.formats.errors import FieldError
from panprivacy.planning.curves import (
    AXES,
    ErrorCurve,
    PrivacyCurve,
    error_curve,
    error_curves_by_epsilon,
    privacy_curve,
)
from panprivacy.planning.epsilons import Epsilons, aggregator_epsilon, epsilons_of, local_epsilon
from panprivacy.planning.expectation import Expectation, expectation_of
from panprivacy.planning.proposal import Proposal
from panprivacy.planning.solver import Alternative, Solution, require_unknown, solve
from panprivacy.planning.targets import Targets


@dataclass(frozen=True)
class Question:
    """A proposal, and the question about it: `unknown` and `targets` together, or neither."""

    proposal: Proposal
    unknown: str | None = None
    targets: Targets | None = None

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Read the fields of a proposal, and perhaps `unknown` and `targets`.

        Raises:
            FieldError: names the first field that is unknown, missing or out of range; one of the
                parameters or targets as `targets.margin`.
        """
        rest = dict(members)
        unknown, targets = rest.pop("unknown", None), rest.pop("targets", None)
        proposal = Proposal.from_mapping(rest)
        if (unknown is None) != (targets is None):
            missing, stated = ("unknown", "targets") if unknown is None else ("targets", "unknown")
            raise FieldError(missing, f"is missing: it belongs to {stated}")
        if unknown is None:
            return cls(proposal)
        required = require_unknown(unknown)
        try:
            return cls(proposal, required, Targets.from_mapping(targets))
        except FieldError as error:
            if error.field == "targets":
                raise
            raise error.within("targets") from None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, read by `from_mapping`; equal questions give equal ones."""
        targets = None if self.targets is None else self.targets.as_dict()
        return {**self.proposal.as_dict(), "unknown": self.unknown, "targets": targets}


@dataclass(frozen=True)
class PlanSolution:
    """The result of solving for an unknown.

    Attributes:
        unknown: the parameter that was solved for.
        found: whether a value meets every target.
        value: the most private value that meets every target.
        lowest, highest: of all values that do.
        closest: the question with that value; if none is found, with the closest one, privacy first.
        unmet: the targets that `closest` misses; `cohort`: that the cohort size is reached at 95%.
        alternatives: changes that would meet every target, if none is found.
        expectation: of `closest`.
        epsilons: of `closest`: local and aggregator only.
    """

    unknown: str
    found: bool
    value: float | None
    lowest: float | None
    highest: float | None
    closest: Proposal
    unmet: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    expectation: Expectation | None
    epsilons: Epsilons | None


@dataclass(frozen=True)
class Curves:
    """How margin and ε change with one parameter. Parts without time are missing.

    Attributes:
        margin: by cohort_size, sampling_rate, epsilon: values and margins, these in the terms of the targets'
            margin.
        margin_by_epsilon: margins by cohort size, a curve per ε.
        epsilon: by cohort_size, sampling_rate, epsilon: values, local, aggregator, sampled; under
            replacement, at the parameters' δ, without collusion.
    """

    margin: Mapping[str, ErrorCurve]
    margin_by_epsilon: tuple[ErrorCurve, ...] | None
    epsilon: Mapping[str, PrivacyCurve]


@dataclass(frozen=True)
class Plan:
    """The answer. Parts without time are None, or missing from the curves.

    Attributes:
        expectation: of the proposal itself.
        epsilons: ε under replacement, at the parameters' δ, without collusion, rounded up by at most 1e-5
            (relative).
        guarantees: with sources and assumptions, and with colluders; None while not computed.
        solution: None while not computed, or if nothing was asked.
        curves: around the proposal.
        complete: whether nothing is missing.
    """

    expectation: Expectation
    epsilons: Epsilons
    guarantees: tuple[Guarantee, ...] | None
    solution: PlanSolution | None
    curves: Curves
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    """Fields by name, lists for tuples; a proposal as `Proposal.from_mapping` reads it."""
    if isinstance(value, Proposal):
        return value.as_dict()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


class Depth(IntEnum):
    """How much of a plan is computed."""

    QUICK = 0
    """No guarantees, nothing that needs participation to be secret, and no evaluation of an aggregator event
    that is not `quick`."""

    SOLVED = 1
    """All but ε along curves if that is not `quick`, and what needs participation to be secret."""

    WHOLE = 2


def plan_of(question: Question, depth: Depth = Depth.WHOLE) -> Plan:
    """Answer a question.

    Args:
        depth: how much is computed.

    Raises:
        FieldError: the proposal's mechanism cannot be computed, or the unknown cannot be solved for.
    """
    *_, plan = plans_of(question, depth)
    return plan


def plans_of(question: Question, depth: Depth = Depth.WHOLE) -> Iterator[Plan]:
    """The answer in parts, each with all of the one before it; the last one is `plan_of`'s.

    First what costs milliseconds, then what a person asked for, then the curves.

    Raises: as `plan_of`, ahead of the first part.
    """
    proposal = question.proposal
    mechanism = proposal.mechanism()
    plan = Plan(
        expectation=expectation_of(proposal),
        epsilons=Epsilons(local=local_epsilon(mechanism)),
        guarantees=None,
        solution=None,
        curves=Curves({axis: error_curve(proposal, axis) for axis in AXES}, None, {}),
        complete=False,
    )
    plan = replace(plan, curves=replace(plan.curves, margin_by_epsilon=error_curves_by_epsilon(proposal)))
    yield plan
    quick = mechanism.aggregator_event().quick
    if depth > Depth.QUICK or quick:
        plan = replace(plan, epsilons=replace(plan.epsilons, aggregator=aggregator_epsilon(mechanism)))
        yield plan
    if question.unknown is not None and question.targets is not None and _solvable(question, depth):
        found = solve(proposal, question.unknown, question.targets)
        chosen = found.closest.mechanism()
        known = depth > Depth.QUICK or chosen.aggregator_event().quick
        aggregator = aggregator_epsilon(chosen) if known else None
        plan = replace(plan, solution=_solved(found, Epsilons(local_epsilon(chosen), aggregator)))
        yield plan
    if quick:
        plan = yield from _drawn(plan, proposal)
    if depth >= Depth.SOLVED:
        plan = replace(plan, guarantees=mechanism.open_guarantees())
        yield plan
    if depth == Depth.WHOLE:
        # First the data that every chart needs; a curve with the slowest numbers later replaces one without.
        plan = yield from _drawn(plan, proposal)
        plan = replace(plan, guarantees=mechanism.guarantees(), epsilons=epsilons_of(mechanism))
        yield plan
        privacy = {axis: privacy_curve(proposal, axis) for axis in AXES}
        yield replace(plan, curves=replace(plan.curves, epsilon=privacy), complete=True)


def _drawn(plan: Plan, proposal: Proposal) -> Generator[Plan, None, Plan]:
    """Add the curves that are missing, without what needs participation to be secret."""
    for axis in AXES:
        if axis not in plan.curves.epsilon:
            privacy = {**plan.curves.epsilon, axis: privacy_curve(proposal, axis, sampled_too=False)}
            plan = replace(plan, curves=replace(plan.curves, epsilon=privacy))
            yield plan
    return plan


def _solvable(question: Question, depth: Depth) -> bool:
    """Whether no evaluation of the search takes longer than a quick plan allows."""
    if depth > Depth.QUICK or question.targets is None or question.targets.aggregator_epsilon is None:
        return True
    # Other cohort sizes may not be quick if this one is.
    return question.unknown != "cohort_size" and question.proposal.mechanism().aggregator_event().quick


def _solved(solution: Solution, epsilons: Epsilons) -> PlanSolution:
    found = solution.proposal
    return PlanSolution(
        unknown=solution.unknown,
        found=found is not None,
        value=None if found is None else found.value(solution.unknown),
        lowest=solution.lowest,
        highest=solution.highest,
        closest=solution.closest,
        unmet=solution.unmet,
        alternatives=solution.alternatives,
        expectation=expectation_of(solution.closest),
        epsilons=epsilons,
    )
