"""All figures of a proposal, computed in order of their cost until the caller's time is over."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any, Self

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.errors import FieldError
from panprivacy.planning.checkpoint import Checkpoint, OutOfTimeError
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
from panprivacy.planning.solver import Solution, require_unknown, solve
from panprivacy.planning.targets import Targets


@dataclass(frozen=True)
class Question:
    """A proposal, and what is asked about it: `unknown` and `targets` together, or neither."""

    proposal: Proposal
    unknown: str | None = None
    targets: Targets | None = None

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Read the members of a proposal, and perhaps `unknown` and `targets`.

        Raises:
            FieldError: names the first field that is unknown, missing or out of range.
        """
        rest = dict(members)
        unknown, targets = rest.pop("unknown", None), rest.pop("targets", None)
        proposal = Proposal.from_mapping(rest)
        if (unknown is None) != (targets is None):
            missing, given = ("unknown", "targets") if unknown is None else ("targets", "unknown")
            raise FieldError(missing, f"is missing: it belongs to {given}")
        if unknown is None:
            return cls(proposal)
        return cls(proposal, require_unknown(unknown), Targets.from_mapping(targets))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, read by `from_mapping`; equal questions give equal ones."""
        targets = None if self.targets is None else self.targets.as_dict()
        return {**self.proposal.as_dict(), "unknown": self.unknown, "targets": targets}


@dataclass(frozen=True)
class Plan:
    """The answer. What there was no time for is None, or missing from the mappings.

    Attributes:
        expectation: of the proposal as it stands.
        epsilons: its ε.
        guarantees: its guarantees, with sources and assumptions, and with colluders.
        solution: None also where nothing was asked; expectation and ε of its `closest` beside it.
        errors: axis → margin along it.
        errors_by_epsilon: margin along the cohort size, one curve per ε.
        privacy: axis → ε along it.
        complete: whether nothing is missing for want of time.
    """

    expectation: Expectation
    epsilons: Epsilons
    guarantees: tuple[Guarantee, ...] | None
    solution: Solution | None
    solved: tuple[Expectation, Epsilons] | None
    errors: Mapping[str, ErrorCurve]
    errors_by_epsilon: tuple[ErrorCurve, ...] | None
    privacy: Mapping[str, PrivacyCurve]
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "expectation": asdict(self.expectation),
            "epsilons": asdict(self.epsilons),
            "guarantees": None
            if self.guarantees is None
            else [guarantee.as_dict() for guarantee in self.guarantees],
            "solution": None if self.solution is None else _solution(self.solution, self.solved),
            "curves": {
                "margin": {axis: _curve(curve) for axis, curve in self.errors.items()},
                "margin_by_epsilon": None
                if self.errors_by_epsilon is None
                else [_curve(curve) for curve in self.errors_by_epsilon],
                "epsilon": {axis: _curve(curve) for axis, curve in self.privacy.items()},
            },
            "complete": self.complete,
        }


class Depth(IntEnum):
    """How much of a plan is computed."""

    QUICK = 0
    """Nothing that cannot be interrupted within a tenth of a second: no guarantees, nothing that counts on
    nobody knowing who took part, and nothing that looks at an aggregator event which is not `quick`."""

    SOLVED = 1
    """All but ε along curves where that is not `quick`, and what counts on nobody knowing who took part."""

    WHOLE = 2


def plan_of(question: Question, checkpoint: Checkpoint = lambda: None, depth: Depth = Depth.WHOLE) -> Plan:
    """Answer a question.

    Args:
        checkpoint: called before every computation but the first; raises `OutOfTimeError` when there is
            no more time.
        depth: how much is computed.

    Raises:
        FieldError: the proposal's mechanism cannot be computed, or the unknown cannot be solved for.
    """
    proposal = question.proposal
    mechanism = proposal.mechanism()
    expectation = expectation_of(proposal)
    epsilons = Epsilons(local=local_epsilon(mechanism))
    guarantees: tuple[Guarantee, ...] | None = None
    solution: Solution | None = None
    solved: tuple[Expectation, Epsilons] | None = None
    errors: dict[str, ErrorCurve] = {}
    by_epsilon: tuple[ErrorCurve, ...] | None = None
    privacy: dict[str, PrivacyCurve] = {}
    complete = False
    try:
        # They cost milliseconds, and a page without any chart says little.
        for axis in AXES:
            errors[axis] = error_curve(proposal, axis, checkpoint)
        by_epsilon = error_curves_by_epsilon(proposal, checkpoint)
        quick = mechanism.aggregator_event().quick
        if depth > Depth.QUICK or quick:
            epsilons = replace(epsilons, aggregator=aggregator_epsilon(mechanism, checkpoint))
        if question.unknown is not None and question.targets is not None and _solvable(question, depth):
            found = solve(proposal, question.unknown, question.targets, checkpoint)
            chosen = found.closest.mechanism()
            known = depth > Depth.QUICK or chosen.aggregator_event().quick
            aggregator = aggregator_epsilon(chosen, checkpoint) if known else None
            solved = expectation_of(found.closest), Epsilons(local_epsilon(chosen), aggregator)
            solution = found
        if quick:
            _draw(privacy, proposal, checkpoint)
        if depth >= Depth.SOLVED:
            checkpoint()
            guarantees = mechanism.guarantees(sampled=False)
        if depth == Depth.WHOLE:
            # First what every chart needs; a curve with what is slowest then takes the place of one without.
            _draw(privacy, proposal, checkpoint)
            checkpoint()
            guarantees = mechanism.guarantees()
            epsilons = epsilons_of(mechanism, checkpoint)
            for axis in AXES:
                privacy[axis] = privacy_curve(proposal, axis, checkpoint)
            complete = True
    except OutOfTimeError:
        pass
    return Plan(expectation, epsilons, guarantees, solution, solved, errors, by_epsilon, privacy, complete)


def _draw(privacy: dict[str, PrivacyCurve], proposal: Proposal, checkpoint: Checkpoint) -> None:
    """Add the curves that are missing, without what counts on nobody knowing who took part."""
    for axis in AXES:
        if axis not in privacy:
            privacy[axis] = privacy_curve(proposal, axis, checkpoint, sampled_too=False)


def _solvable(question: Question, depth: Depth) -> bool:
    """Whether no look of the search takes longer than a quick plan may."""
    if depth > Depth.QUICK or question.targets is None or question.targets.aggregator_epsilon is None:
        return True
    # Other cohort sizes may not be quick where this one is.
    return question.unknown != "cohort_size" and question.proposal.mechanism().aggregator_event().quick


def _solution(solution: Solution, solved: tuple[Expectation, Epsilons] | None) -> dict[str, Any]:
    found = solution.proposal
    expectation, epsilons = (None, None) if solved is None else solved
    return {
        "unknown": solution.unknown,
        "found": found is not None,
        "value": None if found is None else found.value(solution.unknown),
        "lowest": solution.lowest,
        "highest": solution.highest,
        "closest": solution.closest.as_dict(),
        "unmet": list(solution.unmet),
        "alternatives": [
            {"changes": alternative.changes, "proposal": alternative.proposal.as_dict()}
            for alternative in solution.alternatives
        ],
        "expectation": None if expectation is None else asdict(expectation),
        "epsilons": None if epsilons is None else asdict(epsilons),
    }


def _curve(curve: ErrorCurve | PrivacyCurve) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(curve).items()}
