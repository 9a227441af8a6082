"""What many rounds of one recipe cost together, and what they guarantee."""

import math
from dataclasses import dataclass, replace
from typing import Any

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.guarantees import Guarantee, Model
from panprivacy.accounting.interface import PrivacyEvent, require_delta, require_epsilon
from panprivacy.accounting.number_cache import epsilon_at
from panprivacy.accounting.sampling import amplified_epsilon
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.events.combined_result import DISHONEST_FRACTIONS, honest_devices, population_of

CONDITION = "it is unseen which devices take part in which round"
UNSEEN = "it being unseen which devices take part in which round"
"""The assumption of the budget of sampled rounds: as a clause, and as a guarantee's assumption."""

ONCE = "A device gives in one round at most, so all rounds tell of it what one of them does."


def rounds_event(
    statistic: CohortStatistic[Any], rounds: int, *, once: bool, dishonest_fraction: float = 0.0
) -> PrivacyEvent:
    """All rounds together, by proof, against readers of their results: the charge to a budget.

    - Devices draw anew in each round: the sampled release, once for each round. Rounds that do not fill count
      as well. Whether one fills is a function of its number of reports, and what a round is charged with is
      averaged over that number: of the rounds that fill, a device takes part in more than its rate.
    - Every device takes part in each: the release, once for each round.
    - Devices give once (`once`): one release over the devices that are known to take part. Give an observer
      the round that the device draws; all others then are the same whatever its data (joint convexity).

    Args:
        statistic: of a round, calibrated.
        rounds: R, from 1.
        dishonest_fraction: the part of the devices that colludes with the observer, below 1.
    """
    if once:
        return statistic.aggregator_event(dishonest_fraction)
    release = statistic.aggregator_event if statistic.sampling is None else statistic.sampling.event
    return Repetition(event=release(dishonest_fraction), times=rounds)


def events_composed(statistic: CohortStatistic[Any], *, once: bool) -> tuple[PrivacyEvent, ...]:
    """The releases of one round whose losses `rounds_event`, `rounds_guarantees` and `donation_amplified`
    compose: they take most of the time."""
    sampling, fractions = statistic.sampling, (0.0,) if once else DISHONEST_FRACTIONS
    return () if sampling is None else tuple(map(sampling.event, fractions))


def rounds_condition(statistic: CohortStatistic[Any], *, once: bool) -> str:
    """What `rounds_event` assumes, as a clause; empty if it assumes nothing."""
    clauses = [statistic.budget_condition, CONDITION if _is_sampled(statistic, once=once) else ""]
    return "; and that ".join(clause for clause in clauses if clause)


def rounds_model(statistic: CohortStatistic[Any], *, once: bool) -> Model:
    """The model of those `rounds_guarantees` that `rounds_event` gives."""
    return Model.SAMPLED if _is_sampled(statistic, once=once) else statistic.release_model


def _is_sampled(statistic: CohortStatistic[Any], *, once: bool) -> bool:
    return not once and statistic.parameters.sampling_rate < 1


def rounds_guarantees(statistic: CohortStatistic[Any], rounds: int, *, once: bool) -> tuple[Guarantee, ...]:
    """The guarantees for all rounds together, at the recipe's δ if they are composed. May take seconds.

    Of the combined results, under the relation of their event: only there is the whole curve known.

    Args: as in `rounds_event`.
    """
    of_one = statistic.open_guarantees()
    if once:
        return tuple(
            one if one.epsilon is None else replace(one, source=f"{one.source} {ONCE}") for one in of_one
        )
    neighbours, model = statistic.aggregator_event().neighbours, statistic.release_model
    stated = [one for one in of_one if one.model is not model or one.relation is neighbours]
    together = [_repeated(statistic, one, rounds) for one in stated]
    if _is_sampled(statistic, once=once):
        together += [_sampled(statistic, rounds, fraction) for fraction in DISHONEST_FRACTIONS]
    return tuple(together)


def _repeated(statistic: CohortStatistic[Any], one: Guarantee, rounds: int) -> Guarantee:
    """A guarantee of one round for all of them."""
    if one.epsilon is None or one.delta is None or rounds == 1:
        return one
    if one.delta == 0:
        source = f"{one.source} The largest losses of {rounds:,} independent rounds add up."
        return replace(one, epsilon=rounds * one.epsilon, found_epsilon=None, source=source)
    event = statistic.aggregator_event(one.dishonest_fraction)
    delta = statistic.parameters.delta
    if one.model is not statistic.release_model:
        try:
            event = EpsilonDelta(
                epsilon_given=one.epsilon, delta_given=one.delta, relation=one.relation.value
            )
        except FieldError:
            return _unknown(one, rounds)
        delta = min(0.5, 2 * rounds * one.delta)
    return _composed(one, event, rounds, delta)


def _sampled(statistic: CohortStatistic[Any], rounds: int, fraction: float) -> Guarantee:
    if statistic.sampling is None:
        raise ValueError("every device takes part")
    event = statistic.sampling.event(fraction)
    parameters = statistic.parameters
    honest = honest_devices(population_of(parameters.cohort_size, statistic.reporting_rate), fraction)
    model = Guarantee(
        model=Model.SAMPLED,
        relation=event.neighbours,
        epsilon=None,
        delta=None,
        source="",
        assumption=f"at least {honest:,} devices that follow the protocol hearing of each round, "
        f"and on {UNSEEN}",
        dishonest_fraction=fraction,
    )
    return _composed(model, event, rounds, parameters.delta)


def _composed(one: Guarantee, event: PrivacyEvent, rounds: int, delta: float) -> Guarantee:
    repeated = Repetition(event=event, times=rounds)
    try:
        epsilon = epsilon_at(repeated, delta)
    except FieldError:
        return _unknown(one, rounds)
    if not math.isfinite(epsilon):
        return _unknown(one, rounds)
    source = sentence(repeated.method)
    return replace(one, epsilon=epsilon, delta=delta, found_epsilon=None, source=source)


def _unknown(one: Guarantee, rounds: int) -> Guarantee:
    source = f"Of {rounds:,} rounds together it is not computed: it would be too large to protect any device."
    return replace(one, epsilon=None, delta=None, found_epsilon=None, source=source)


@dataclass(frozen=True, kw_only=True)
class DonationAmplification:
    """Appendix A's numbers for donation time: devices that draw once out of m rounds, or never.

    The printed argument compares them with devices that may give in each round. If the number of reports of a
    round is public, that comparison is not proved (docs/errata.md), so no budget is charged with these.

    Attributes:
        epsilon, delta: m rounds sampled at 1/m, composed numerically.
        printed_epsilon, printed_delta: the closed form, from the (ε, δ) of one round.
    """

    epsilon: float
    delta: float
    printed_epsilon: float
    printed_delta: float

    def as_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "printed_epsilon": self.printed_epsilon,
            "printed_delta": self.printed_delta,
        }


def donation_amplified(statistic: CohortStatistic[Any], rounds: int) -> DonationAmplification:
    """Both numbers for a statistic whose sampling rate is 1/m.

    Args:
        statistic: of a round, calibrated.
        rounds: m, from 2.

    Raises:
        ValueError: every device takes part in every round.
    """
    sampling, delta = statistic.sampling, statistic.parameters.delta
    if sampling is None:
        raise ValueError("every device takes part")
    of_round = epsilon_at(statistic.aggregator_event(), delta)
    return DonationAmplification(
        epsilon=epsilon_at(Repetition(event=sampling.event(), times=rounds), delta),
        delta=delta,
        printed_epsilon=donation_closed_form(of_round, delta, rounds),
        printed_delta=(rounds + 1) * delta,
    )


def donation_closed_form(epsilon: float, delta: float, rounds: int) -> float:
    """ε' ≤ ε₁·√(2·m·ln(1/δ)) + m·ε₁²/2 with ε₁ = ln(1 + (e^ε − 1)/m), at δ' ≤ (m + 1)·δ (SAA appendix A).

    Args:
        epsilon, delta: of one round over the devices that take part.
        rounds: m, from 1.
    """
    require_epsilon(epsilon)
    require_delta(delta)
    amplified = amplified_epsilon(epsilon, 1 / rounds)
    return amplified * math.sqrt(2 * rounds * math.log(1 / delta)) + rounds * amplified**2 / 2
