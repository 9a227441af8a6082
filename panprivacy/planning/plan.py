"""Everything that is computed for a proposal, the quick before the slow, as far as there is time."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from panprivacy.errors import FieldError
from panprivacy.planning.curves import (
    AXES,
    ErrorCurve,
    PrivacyCurve,
    error_curve,
    error_curves_by_epsilon,
    privacy_curve,
)
from panprivacy.planning.expectation import Expectation, expectation_of
from panprivacy.planning.proposal import Proposal
from panprivacy.planning.solver import Checkpoint, Solution, require_unknown, solve
from panprivacy.planning.targets import Targets


class OutOfTimeError(Exception):
    """Raised by a checkpoint: what is not computed yet stays so."""


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
        solution: None also where nothing was asked; its own expectation beside it.
        errors: axis → margin along it.
        errors_by_epsilon: margin along the cohort size, one curve per ε.
        privacy: axis → ε along it.
        complete: whether nothing is missing for want of time.
    """

    expectation: Expectation
    solution: Solution | None
    solved: Expectation | None
    errors: Mapping[str, ErrorCurve]
    errors_by_epsilon: tuple[ErrorCurve, ...] | None
    privacy: Mapping[str, PrivacyCurve]
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "expectation": _expectation(self.expectation),
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


def plan_of(question: Question, checkpoint: Checkpoint = lambda: None) -> Plan:
    """Answer a question.

    Args:
        checkpoint: called before every computation but the first; raises `OutOfTimeError` when there is
            no more time.

    Raises:
        FieldError: the proposal's mechanism cannot be computed, or the unknown cannot be solved for.
    """
    proposal = question.proposal
    expectation = expectation_of(proposal)
    solution: Solution | None = None
    solved: Expectation | None = None
    errors: dict[str, ErrorCurve] = {}
    by_epsilon: tuple[ErrorCurve, ...] | None = None
    privacy: dict[str, PrivacyCurve] = {}
    complete = False
    try:
        if question.unknown is not None and question.targets is not None:
            found = solve(proposal, question.unknown, question.targets, checkpoint)
            checkpoint()
            solved = expectation_of(found.closest)
            solution = found
        for axis in AXES:
            errors[axis] = error_curve(proposal, axis, checkpoint)
        by_epsilon = error_curves_by_epsilon(proposal, checkpoint)
        for axis in AXES:
            privacy[axis] = privacy_curve(proposal, axis, checkpoint)
        complete = True
    except OutOfTimeError:
        pass
    return Plan(expectation, solution, solved, errors, by_epsilon, privacy, complete)


def _expectation(expectation: Expectation) -> dict[str, Any]:
    members = asdict(expectation)
    return {**members, "guarantees": [guarantee.as_dict() for guarantee in expectation.guarantees]}


def _solution(solution: Solution, solved: Expectation | None) -> dict[str, Any]:
    found = solution.proposal
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
        "expectation": None if solved is None else _expectation(solved),
    }


def _curve(curve: ErrorCurve | PrivacyCurve) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(curve).items()}
