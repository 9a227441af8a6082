"""A filter holds against whoever chooses the next release by earlier results; composing curves does not."""

import math
import random
from dataclasses import dataclass

import pytest

from panprivacy.accounting.composition import Repetition, epsilon_of
from panprivacy.accounting.epsilon_delta import AdditionalDelta, EpsilonDelta
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.privacy_filter import PrivacyFilter
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from tests.refusals import field_refused

BUDGETS = [(1.0, 1e-6), (8.0, 1e-12), (20.0, 0.3)]


@dataclass(frozen=True)
class Choice:
    """A release: the bit itself with the probability `delta_given`, else randomized response with
    `epsilon_given`; and what the analyst chooses after each of the two answers."""

    event: EpsilonDelta
    after: tuple["Choice | None", "Choice | None"]


def exact_delta(choice: "Choice | None", epsilon: float, loss: float = 0.0, bit: int = 1) -> float:
    """δ(ε) of a whole tree of choices for this bit against the other, by summing over all answers."""
    if choice is None:
        return max(0.0, -math.expm1(epsilon - loss))
    one, failing = choice.event.epsilon_given, choice.event.delta_given
    truth = 1 / (1 + math.exp(-one))
    return failing + (1 - failing) * (
        truth * exact_delta(choice.after[bit], epsilon, loss + one, bit)
        + (1 - truth) * exact_delta(choice.after[1 - bit], epsilon, loss - one, bit)
    )


def paths(choice: Choice | None) -> list[list[PrivacyEvent]]:
    """The releases along every way through a tree."""
    if choice is None:
        return [[]]
    return [[choice.event, *rest] for after in choice.after for rest in paths(after)]


def test_analyst_who_chooses_by_results_is_stopped_by_the_filter() -> None:
    """After an answer that speaks for 1, a release that says more; else, one that may give the bit away."""
    epsilon, delta = 1.0, 1e-2
    first = EpsilonDelta(epsilon_given=0.5)
    truth = 1 / (1 + math.exp(-0.5))

    def more(second: float) -> EpsilonDelta:
        return EpsilonDelta(epsilon_given=second)

    low = 0.5257  # just fits: 0.5259 does not
    gives_away = EpsilonDelta(epsilon_given=0.0, delta_given=0.999 * delta)
    tree = Choice(first, (Choice(gives_away, (None, None)), Choice(more(low), (None, None))))
    # Either way, the ledger's composition is within the budget.
    assert all(epsilon_of(path, delta) <= epsilon for path in paths(tree))
    # By construction δ after the one answer and (1 − truth)·δ after the other, but for what composing adds.
    assert exact_delta(tree, epsilon) == pytest.approx(delta * (2 - truth), rel=0.03)
    assert any(PrivacyFilter(epsilon, delta).share(path) > 1 for path in paths(tree))


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_no_tree_of_choices_that_the_filter_admits_exceeds_its_budget(epsilon: float, delta: float) -> None:
    """Random trees, each path filled up to what the filter admits; δ summed over all answers, both ways."""
    rule = PrivacyFilter(epsilon, delta)
    draws = random.Random(f"{epsilon} {delta}")

    def grown(so_far: list[PrivacyEvent], depth: int) -> Choice | None:
        if depth == 0:
            return None
        largest = epsilon * draws.choice([0.03, 0.1, 0.3, 1.0])
        for _ in range(40):
            failing = draws.choice([0.0, 0.0, delta * draws.random() / 2])
            event = EpsilonDelta(epsilon_given=largest, delta_given=failing)
            if rule.share([*so_far, event]) <= 1:
                after = (grown([*so_far, event], depth - 1), grown([*so_far, event], depth - 1))
                return Choice(event, after)
            largest *= 0.8
        return None

    for _ in range(2):
        tree = grown([], 6)
        assert tree is not None
        assert max(exact_delta(tree, epsilon, bit=bit) for bit in (0, 1)) <= delta


def some_event(draws: random.Random) -> PrivacyEvent:
    n = draws.choice([20, 300, 5_000])
    return draws.choice(
        [
            RandomizedResponseSum(n=n, epsilon0=draws.uniform(0.1, 4.0)),
            OneHotSum(n=n, epsilon0=draws.uniform(0.1, 3.0), k=4),
            EpsilonDelta(epsilon_given=draws.uniform(0.01, 2.0), delta_given=draws.choice([0.0, 1e-8])),
            Repetition(event=RandomizedResponseSum(n=n, epsilon0=0.5), times=3),
            AdditionalDelta(event=RandomizedResponseSum(n=n, epsilon0=1.0), probability=1e-9),
        ]
    )


@pytest.mark.parametrize("seed", [20, pytest.param(21, marks=pytest.mark.long)])
def test_what_is_admitted_also_composes_within_the_budget(seed: int) -> None:
    """An analyst who ignores results is one of those against whom a filter holds."""
    draws = random.Random(seed)
    epsilon, delta = 10 ** draws.uniform(-1.0, 1.0), 10 ** draws.uniform(-9.0, -3.0)
    rule = PrivacyFilter(epsilon, delta)
    events: list[PrivacyEvent] = []
    for _ in range(6):
        event = some_event(draws)
        if rule.share([*events, event]) <= 1:
            events.append(event)
    assert epsilon_of(events, delta) <= epsilon


@pytest.mark.parametrize("sigma", [2.0, 20.0, 200.0])
def test_cost_of_a_gaussian_is_its_renyi_divergence(sigma: float) -> None:
    rule = PrivacyFilter(1.0, 1e-6)
    exact = rule.order / (2 * sigma**2)
    cost = rule.cost(Gaussian(sigma=sigma))
    # What lies beyond a probability of 1e-38 counts as failing.
    assert (1 - 1e-5) * exact <= cost.divergence <= 1.02 * exact
    assert cost.failing <= 1e-30


@pytest.mark.parametrize("epsilon0", [1e-3, 0.1, 1.0, 10.0])
def test_cost_of_randomized_response_is_its_renyi_divergence(epsilon0: float) -> None:
    rule = PrivacyFilter(1.0, 1e-6)
    order, keep = rule.order, 1 / (1 + math.exp(-epsilon0))
    exact = math.log(
        keep * math.exp((order - 1) * epsilon0) + (1 - keep) * math.exp(-(order - 1) * epsilon0)
    ) / (order - 1)
    cost = rule.cost(EpsilonDelta(epsilon_given=epsilon0))
    assert exact <= cost.divergence <= 1.001 * exact
    assert cost.failing == 0


def test_release_that_is_repeated_may_fail_each_time() -> None:
    once = EpsilonDelta(epsilon_given=0.1, delta_given=1e-8)
    cost = PrivacyFilter(1.0, 1e-6).cost(Repetition(event=once, times=3))
    assert cost.failing == pytest.approx(3e-8)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [*BUDGETS, (1e-9, 1e-32), (1e-9, 0.9), (1e9, 1e-32), (100, 0.5)]
)
def test_rule_of_every_budget_is_a_rule(epsilon: float, delta: float) -> None:
    rule = PrivacyFilter(epsilon, delta)
    assert 1 < rule.order < math.inf
    # The conversion once more, as Balle et al. 2020 (Theorem 21) write it.
    above = rule.order - 1
    converted = rule.capacity + math.log(above / rule.order) - math.log(delta / 2 * rule.order) / above
    assert rule.capacity == 0 or converted == pytest.approx(epsilon, rel=1e-9, abs=1e-12)
    assert rule.share([]) == 0.0
    assert rule.share([EpsilonDelta(epsilon_given=100.0, delta_given=1.0)]) > 1
    assert rule.share([EpsilonDelta(epsilon_given=0.0, delta_given=0.4 * delta)]) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("epsilon", "delta", "field"), [(0.0, 0.1, "epsilon"), (1, 1, "delta"), (1, 0, "delta")]
)
def test_impossible_budget_is_refused_by_name(epsilon: float, delta: float, field: str) -> None:
    with field_refused(field):
        PrivacyFilter(epsilon, delta)
