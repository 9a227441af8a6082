"""Reference numbers, the dominating pair by definition, and the closed forms."""

import math
from functools import partial

import pytest
from mpmath import mp

from panprivacy.accounting import binomial
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse, ShuffledReports
from research.reproduction.samplable_anonymous_aggregation import largest_epsilon0_2022
from tests.panprivacy.accounting.by_definition import DIGITS, hockey_stick
from tests.panprivacy.accounting.contract import CohortContract


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return ShuffledRandomizedResponse(n=1_000, epsilon0=1.0)


class TestContractOfClones(CohortContract):
    @pytest.fixture
    def event(self):
        return ShuffledReports(n=1_000, epsilon0=1.0)


@pytest.mark.parametrize(("event", "delta", "epsilon"), [
    (ShuffledRandomizedResponse(n=10_000, epsilon0=4.0), 1e-10, 0.605256),
    (ShuffledRandomizedResponse(n=10_000, epsilon0=2.0), 1e-6, 0.1143996),
    (ShuffledRandomizedResponse(n=1_000, epsilon0=1.0), 1e-6, 0.148671),
    (ShuffledReports(n=10_000, epsilon0=4.0), 1e-10, 0.893913),
])  # fmt: skip
def test_epsilon_agrees_with_reference_numbers(event, delta, epsilon):
    assert event.epsilon(delta) == pytest.approx(epsilon, rel=1e-5)


def test_epsilon_of_fmt_2021_lies_between_its_authors_bounds():
    """Their example: n = 100,000, ε₀ = 4, δ = 1e-6, blocks of 100."""
    assert 0.1675385583317841 < ShuffledReports(n=100_000, epsilon0=4.0).epsilon(1e-6) < 0.172790550755978


def pair_by_definition(n, epsilon0, clone):
    own = 1 / (1 + mp.exp(-mp.mpf(epsilon0)))
    first, second = {}, {}
    for c in range(n):
        of_clones = mp.binomial(n - 1, c) * clone**c * (1 - clone) ** (n - 1 - c)
        for s in range(c + 1):
            weight = of_clones * mp.binomial(c, s) / mp.mpf(2) ** c
            for extra, to_first in ((1, own), (0, 1 - own)):
                first[c, s + extra] = first.get((c, s + extra), 0) + weight * to_first
                second[c, s + extra] = second.get((c, s + extra), 0) + weight * (1 - to_first)
    return first, second


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("epsilon0", [1e-3, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.4, 0.9])
def test_delta_of_few_reports_is_that_of_the_dominating_pair_by_definition(n, epsilon0, share):
    with mp.workdps(DIGITS):
        for event, clone in [
            (ShuffledRandomizedResponse(n=n, epsilon0=epsilon0), 2 / (mp.exp(mp.mpf(epsilon0)) + 1)),
            (ShuffledReports(n=n, epsilon0=epsilon0), mp.exp(-mp.mpf(epsilon0))),
        ]:
            exact = hockey_stick(*pair_by_definition(n, epsilon0, clone), share * epsilon0)
            found = event.delta(share * epsilon0)
            assert exact * (1 - mp.mpf("1e-9")) <= found <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-38")


def test_delta_of_grouped_numbers_of_clones_is_hardly_above_the_ungrouped(monkeypatch):
    """At 10⁷ reports the clones' numbers are grouped; ungrouped, it is the definition."""
    event = ShuffledRandomizedResponse(n=10**7, epsilon0=2.0)
    epsilon = event.epsilon(1e-8)
    grouped = event.delta(epsilon)
    monkeypatch.setattr(binomial, "blocks", partial(binomial.blocks, most=10**9))
    ungrouped = event.delta(epsilon)
    assert ungrouped < grouped < ungrouped * (1 + 1e-3)


def closed_form_2021(n, epsilon0, delta):
    """FMT 2021, Theorem 3.1, up to ε₀ = ln(n/(16·ln(2/δ)))."""
    growth = math.exp(epsilon0)
    spread = 8 * math.sqrt(growth * math.log(4 / delta) / n) + 8 * growth / n
    return math.log1p((growth - 1) / (growth + 1) * spread)


def closed_form_2022(n, epsilon0, delta):
    """FMT 2022, Theorem 3.2, up to ε₀ = ln(n/(8·ln(2/δ)) − 1)."""
    growth = math.exp(epsilon0)
    spread = 4 * math.sqrt(2 * math.log(4 / delta) / ((growth + 1) * n)) + 4 / n
    return math.log1p((growth - 1) * spread)


@pytest.mark.parametrize("n", [2_000, 10**7])
@pytest.mark.parametrize("epsilon0", [0.1, 2.0, 5.0, 9.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-12])
def test_closed_forms_lie_above_the_numerical_bounds_where_they_hold(n, epsilon0, delta):
    if epsilon0 <= math.log(n / (16 * math.log(2 / delta))):
        numerical = ShuffledReports(n=n, epsilon0=epsilon0).epsilon(delta)
        assert numerical <= closed_form_2021(n, epsilon0, delta) < epsilon0
    if epsilon0 <= largest_epsilon0_2022(n=n, delta=delta):
        numerical = ShuffledRandomizedResponse(n=n, epsilon0=epsilon0).epsilon(delta)
        assert numerical <= closed_form_2022(n, epsilon0, delta) < epsilon0
