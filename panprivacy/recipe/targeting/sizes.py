"""How many devices a target asks at least, and by how many two targets differ at least.

Only single attributes were counted, so a conjunction is bounded from its parts (Fréchet 1935): of N devices,
at least Σ n_j − (m − 1)·N have all of m properties, if n_j devices have the j-th.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import TIMES_COHORT
from panprivacy.recipe.targeting.target import FIELD, MOST_CONDITIONS, Target

FAILURE_PROBABILITY = 1e-6 / (2 * MOST_CONDITIONS)
"""Of the bounds from one result. Two targets rest on at most six: a statement about both fails with 1e-6."""

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Sizes:
    """Of one attribute, between which the numbers of devices lie.

    Attributes:
        values: by value.
        population_size: the number of all devices of the population.
    """

    values: Mapping[str, Bounds]
    population_size: Bounds

    def without(self, value: str) -> float:
        """The least number of devices that have another value."""
        return sum(low for other, (low, _) in self.values.items() if other != value)


SizesBy = Mapping[str, Sizes]
"""By the attribute's name. All are taken to be of the same devices."""


def smallest_target(stated: int | None, cohort_size: int, sampling_rate: float) -> int:
    """The number of devices that a target must have: as stated, otherwise the larger of two numbers.

    They are `TIMES_COHORT` cohorts, and as many devices as must receive the recipe for a cohort to take part:
    the guarantee of sampling rests on that number.

    Raises:
        FieldError: named `smallest_target`: it is below the number that must receive the recipe.
    """
    hearing = math.ceil(cohort_size / sampling_rate)
    if stated is not None and stated < hearing:
        raise FieldError(
            "smallest_target", f"must be at least the cohort size by the sampling rate, {hearing:,}"
        )
    return max(TIMES_COHORT * cohort_size, hearing) if stated is None else stated


def at_least(target: Target, sizes: SizesBy) -> float:
    """The least number of devices that fit the target.

    Raises:
        FieldError: named `target.NAME`: no sizes were given of an attribute, or not of the value.
    """
    return _all_of((_bounds(name, value, sizes)[0] for name, value in target.where.items()), sizes)


def differ_by_at_least(one: Target, other: Target, sizes: SizesBy) -> float:
    """The least number of devices that are asked by one of two targets only; infinity if the targets are the
    same.

    A reader that subtracts one result from the other learns about these devices alone, within the noise.

    Raises:
        FieldError: as in `at_least`.
    """
    if one.where == other.where:
        return math.inf
    return _beyond(one, other, sizes) + _beyond(other, one, sizes)


def require_large(target: Target, sizes: SizesBy, smallest: int) -> None:
    """FieldError named `target` unless surely as many devices as `smallest` fit it."""
    found = at_least(target, sizes)
    if found < smallest:
        raise FieldError(
            FIELD,
            f"must have at least {smallest:,} devices; by the cited results, {math.floor(found):,} are sure",
        )


def require_apart(target: Target, others: Iterable[Target], sizes: SizesBy, smallest: int) -> None:
    """FieldError named `target` unless it is the same as each of the others, or surely differs by as many
    devices as `smallest`.

    Args:
        others: of all recipes of the population, `target.ALL_DEVICES` for each that has no target.
    """
    for other in others:
        found = differ_by_at_least(target, other, sizes)
        if found < smallest:
            raise FieldError(
                FIELD,
                f"differs from what another recipe of the population asks ({other}) by too few devices: "
                f"{math.floor(found):,} are sure, and must be {smallest:,}",
            )


def require_rest(target: Target, others: Iterable[Target], sizes: SizesBy, smallest: int) -> None:
    """FieldError named `target` unless, of each of its attributes, the values that no target names surely
    have as many devices together as `smallest`.

    A reader that subtracts the results of all the others from that of all devices learns of these devices.

    Args:
        others: of all recipes of the population.
    """
    known = [target, *others]
    for name in target.where:
        named = {other.where[name] for other in known if name in other.where}
        left = sum(low for value, (low, _) in sizes[name].values.items() if value not in named)
        if left < smallest:
            raise FieldError(
                FIELD,
                f"leaves too few devices with values of {name} that no target names: {math.floor(left):,} "
                f"are sure, and must be {smallest:,}",
            )


def _beyond(one: Target, other: Target, sizes: SizesBy) -> float:
    """The least number of devices that fit `one` and not `other`."""
    if one.narrows(other):
        return 0.0
    least = at_least(one, sizes)
    if one.excludes(other):
        return least
    both = min(_bounds(name, value, sizes)[1] for name, value in {**one.where, **other.where}.items())
    found = least - both
    # A device that lacks one condition of the other is not in it: for each condition, the devices that lack
    # it.
    for name, value in other.where.items() - one.where.items():
        _bounds(name, value, sizes)
        own = [_bounds(*condition, sizes)[0] for condition in one.where.items()]
        found = max(found, _all_of([*own, sizes[name].without(value)], sizes))
    return max(found, 0.0)


def _all_of(least: Iterable[float], sizes: SizesBy) -> float:
    """Fréchet's bound, of at most the whole population in each part."""
    parts = list(least)
    if not parts:
        return _population_size(sizes)[0]
    return max(0.0, sum(parts) - (len(parts) - 1) * _population_size(sizes)[1])


def _population_size(sizes: SizesBy) -> Bounds:
    """The largest of what holds above, the least below: populations of several results may differ."""
    known = [of.population_size for of in sizes.values()]
    if not known:
        raise FieldError(FIELD, "needs a result that counts its devices")
    return min(low for low, _ in known), max(high for _, high in known)


def _bounds(name: str, value: str, sizes: SizesBy) -> Bounds:
    if name not in sizes or value not in sizes[name].values:
        raise FieldError(f"{FIELD}.{name}", f"needs a result that counts devices with {name} = {value}")
    return sizes[name].values[value]
