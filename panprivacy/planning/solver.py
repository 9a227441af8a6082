"""Solving for one unknown parameter, so that a proposal meets its targets.

As a parameter grows, every requirement changes at most once (`Requirement.falls_with`). So those that growth
helps give a lowest value, and those that growth breaks a highest one. Every value that is returned has been
tried with the mechanism and met all requirements.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from panprivacy.formats.errors import FieldError
from panprivacy.planning.proposal import Proposal
from panprivacy.planning.targets import PrecisionRequirement, Requirement, Targets
from panprivacy.planning.value_search import ALL_DIGITS, Values

DIGITS = 4
"""Significant digits of a tried value, unless it is a whole number: short enough to be read aloud."""

UNKNOWNS = ("epsilon", "population_size", "sampling_rate", "cohort_size")
"""The parameters that can be solved for."""


@dataclass(frozen=True)
class Alternative:
    """Other values that meet every target.

    Attributes:
        changes: parameter → value, to be changed in the original proposal.
        proposal: the proposal with them.
    """

    changes: dict[str, float]
    proposal: Proposal


@dataclass(frozen=True)
class Solution:
    """The answer for one unknown.

    Attributes:
        unknown: which parameter.
        proposal: with a value of the unknown that meets every target, verified; None if there is none.
        lowest, highest: of the values of the unknown that do; None if there are none.
        closest: `proposal`; if there is none, the proposal that meets the most requirements. Privacy and
            cohort have priority over precision.
        unmet: names of the requirements that `closest` does not meet.
        alternatives: changes of other parameters that would meet every target, only if `proposal` is None.
    """

    unknown: str
    proposal: Proposal | None
    lowest: float | None
    highest: float | None
    closest: Proposal
    unmet: tuple[str, ...]
    alternatives: tuple[Alternative, ...]


def solve(proposal: Proposal, unknown: str, targets: Targets) -> Solution:
    """The value of `unknown` that meets `targets`, everything else as in `proposal`.

    If several values do, the most private is chosen: the smallest ε, population size or sampling rate, the
    largest cohort size. Without a target for the margin every small ε would do; then the largest is chosen.

    Args:
        unknown: one of `UNKNOWNS`. ε, sampling rate and the like are tried with four significant digits.

    Raises:
        FieldError: an unknown that cannot be solved for.
    """
    require_unknown(unknown)
    requirements = targets.requirements()
    search = _Search(unknown, requirements)
    interval = search.interval(proposal)
    if interval is not None:
        found = search.chosen(proposal, interval)
        if not search.unmet(found):
            lowest, highest = map(search.values(proposal).value, interval)
            return Solution(unknown, found, lowest, highest, found, (), ())
    closest = search.closest(proposal)
    unmet = search.unmet(closest)
    return Solution(
        unknown=unknown,
        proposal=None,
        lowest=None,
        highest=None,
        closest=closest,
        unmet=tuple(requirement.name for requirement in unmet),
        alternatives=tuple(_alternatives(proposal, closest, unmet, search)),
    )


def require_unknown(name: object) -> str:
    """`name` if it can be solved for, otherwise FieldError."""
    if not isinstance(name, str) or name not in UNKNOWNS:
        raise FieldError("unknown", f"must be one of {', '.join(UNKNOWNS)}")
    return name


class _Search:
    """The search for one unknown under some requirements."""

    def __init__(self, unknown: str, requirements: Sequence[Requirement]) -> None:
        self.unknown = unknown
        self.requirements = requirements

    def values(self, proposal: Proposal) -> Values:
        description, kind = proposal.description(self.unknown)
        digits = ALL_DIGITS if kind is int else DIGITS
        return Values.of(description.minimum, description.maximum, digits=digits, whole=kind is int)

    def met(self, proposal: Proposal, requirement: Requirement) -> bool:
        try:
            return requirement.met(proposal)
        except FieldError:  # there is no such mechanism: too much noise to decrypt, for one
            return False

    def unmet(self, proposal: Proposal) -> list[Requirement]:
        return [requirement for requirement in self.requirements if not self.met(proposal, requirement)]

    def bound(
        self, proposal: Proposal, requirement: Requirement, within: tuple[int, int]
    ) -> tuple[int, int] | None:
        """First and last index, of those `within`, at which one requirement is met; None if at none."""
        values, (first, last) = self.values(proposal), within
        falls = self.unknown in requirement.falls_with

        def holds(value: float) -> bool:
            try:
                return requirement.met(proposal.having(self.unknown, value))
            except FieldError:
                # There is no such mechanism. A larger ε, more devices or any other growth helps against that,
                # so searches from below do not see it.
                return falls

        since, until = (last + 1, first) if falls else (first - 1, last)
        found = values.nearest(holds, since=since, until=until)
        if found is None:
            return None
        return (first, found) if falls else (found, last)

    def interval(self, proposal: Proposal) -> tuple[int, int] | None:
        """First and last index at which every requirement is met; None if nowhere."""
        within: tuple[int, int] | None = (0, self.values(proposal).length - 1)
        # The quick ones first, so that the slow ones have less to search.
        for requirement in sorted(self.requirements, key=lambda requirement: requirement.slowness):
            if within is not None:
                within = self.bound(proposal, requirement, within)
        return within

    def chosen(self, proposal: Proposal, interval: tuple[int, int]) -> Proposal:
        """The most private value of an interval; see `solve`."""
        first, last = interval
        precise = any(isinstance(requirement, PrecisionRequirement) for requirement in self.requirements)
        largest = self.unknown == "cohort_size" or (self.unknown == "epsilon" and not precise)
        return proposal.having(self.unknown, self.values(proposal).value(last if largest else first))

    def closest(self, proposal: Proposal) -> Proposal:
        """The value that meets the most requirements together, in their order."""
        within = (0, self.values(proposal).length - 1)
        for requirement in self.requirements:
            bound = self.bound(proposal, requirement, within)
            if bound is not None:
                within = bound
            elif isinstance(requirement, PrecisionRequirement):
                # Not even the most that the others leave is enough: that, at least.
                within = (within[1], within[1])
            elif self.unknown in requirement.falls_with and within[0] > 0:
                within = (within[0], within[0])
        closest = self.chosen(proposal, within)
        try:
            closest.mechanism()
        except FieldError:
            return proposal
        return closest


def _alternatives(
    proposal: Proposal, closest: Proposal, unmet: Sequence[Requirement], search: _Search
) -> list[Alternative]:
    """For every other parameter, a change of it, or of it and the unknown, that meets every target."""
    found = []
    for name in UNKNOWNS:
        if name == search.unknown:
            continue
        alone = _Search(name, search.requirements)
        interval = alone.interval(closest)
        changed = None if interval is None else alone.chosen(closest, interval)
        if changed is None:
            # First the other parameter, just enough for the targets that the unknown cannot meet; then the
            # unknown again.
            other = _Search(name, unmet)
            interval = other.interval(closest)
            if interval is None:
                continue
            index = interval[any(name in requirement.falls_with for requirement in unmet)]
            moved = closest.having(name, other.values(closest).value(index))
            again = search.interval(moved)
            if again is None:
                continue
            changed = search.chosen(moved, again)
        if search.unmet(changed):
            continue
        changes = {
            parameter: changed.value(parameter)
            for parameter in (search.unknown, name)
            if changed.value(parameter) != proposal.value(parameter)
        }
        found.append(Alternative(changes, changed))
    return found
