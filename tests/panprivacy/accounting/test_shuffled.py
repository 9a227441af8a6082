"""Reference numbers, the dominating pair by definition, and the closed forms."""

import math

import pytest
from mpmath import mp

from panprivacy.accounting.shuffled import Shuffled, ShuffledClones
from panprivacy.errors import FieldError
from tests.panprivacy.accounting.by_definition import DIGITS, hockey_stick
from tests.panprivacy.accounting.closed_forms import closed_form_2021, closed_form_2022
from tests.panprivacy.accounting.contract import CohortContract


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return Shuffled(n=1_000, epsilon0=1.0)


class TestContractOfClones(CohortContract):
    @pytest.fixture
    def event(self):
        return ShuffledClones(n=1_000, epsilon0=1.0)


@pytest.mark.parametrize(("event", "delta", "epsilon"), [
    (Shuffled(n=10_000, epsilon0=4.0), 1e-10, 0.605256),
    (Shuffled(n=10_000, epsilon0=2.0), 1e-6, 0.1143996),
    (Shuffled(n=1_000, epsilon0=1.0), 1e-6, 0.148671),
    (ShuffledClones(n=10_000, epsilon0=4.0), 1e-10, 0.893913),
])  # fmt: skip
def test_epsilon_agrees_with_reference_numbers(event, delta, epsilon):
    assert event.epsilon(delta) == pytest.approx(epsilon, rel=1e-5)


def test_epsilon_of_fmt_2021_lies_between_the_bounds_that_its_authors_print():
    """Their example: n = 100,000, ε₀ = 4, δ = 1e-6, blocks of 100."""
    assert 0.1675385583317841 < ShuffledClones(n=100_000, epsilon0=4.0).epsilon(1e-6) < 0.172790550755978


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
            (Shuffled(n=n, epsilon0=epsilon0), 2 / (mp.exp(mp.mpf(epsilon0)) + 1)),
            (ShuffledClones(n=n, epsilon0=epsilon0), mp.exp(-mp.mpf(epsilon0))),
        ]:
            exact = hockey_stick(*pair_by_definition(n, epsilon0, clone), share * epsilon0)
            found = event.delta(share * epsilon0)
            assert exact * (1 - mp.mpf("1e-9")) <= found <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-38")


def test_delta_of_grouped_numbers_of_clones_is_hardly_above_the_ungrouped(monkeypatch):
    """At 10⁷ reports the clones' numbers are grouped; ungrouped, it is the definition."""
    from panprivacy.accounting import shuffled

    event = Shuffled(n=10**7, epsilon0=2.0)
    epsilon = event.epsilon(1e-8)
    grouped = event.delta(epsilon)
    shuffled._clones.cache_clear()
    monkeypatch.setattr(shuffled, "_BLOCKS", 10**9)
    ungrouped = event.delta(epsilon)
    shuffled._clones.cache_clear()
    assert ungrouped < grouped < ungrouped * (1 + 1e-3)


VALID = [
    (n, epsilon0, delta)
    for n in (2_000, 10**7)
    for epsilon0 in (0.1, 2.0, 5.0, 9.0)
    for delta in (1e-4, 1e-12)
]


@pytest.mark.parametrize(("closed", "numerical", "growth"), [
    (closed_form_2021, ShuffledClones, lambda n, delta: n / (16 * math.log(2 / delta))),
    (closed_form_2022, Shuffled, lambda n, delta: n / (8 * math.log(2 / delta)) - 1),
])  # fmt: skip
def test_closed_form_bounds_the_numerical_one_where_valid_and_is_refused_elsewhere(closed, numerical, growth):
    refused = 0
    for n, epsilon0, delta in VALID:
        if epsilon0 > math.log(growth(n, delta)):
            with pytest.raises(FieldError) as error:
                closed(n=n, epsilon0=epsilon0, delta=delta)
            assert error.value.field == "epsilon0"
            refused += 1
        else:
            exact = numerical(n=n, epsilon0=epsilon0).epsilon(delta)
            assert exact <= closed(n=n, epsilon0=epsilon0, delta=delta) < epsilon0
    assert 0 < refused < len(VALID)


def test_closed_forms_are_the_printed_ones():
    n, epsilon0, delta = 1_000, 1.5, 1e-3  # where no term is negligible
    with mp.workdps(30):
        growth = mp.exp(mp.mpf(epsilon0))
        root = mp.sqrt(growth * mp.log(4 / mp.mpf(delta)) / n)
        of_2021 = mp.log(1 + (growth - 1) / (growth + 1) * (8 * root + 8 * growth / n))
        root = mp.sqrt(2 * mp.log(4 / mp.mpf(delta)) / ((growth + 1) * n))
        of_2022 = mp.log(1 + (growth - 1) * (4 * root + mp.mpf(4) / n))
    for closed, exact in ((closed_form_2021, of_2021), (closed_form_2022, of_2022)):
        assert closed(n=n, epsilon0=epsilon0, delta=delta) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("closed", [closed_form_2021, closed_form_2022])
@pytest.mark.parametrize(("members", "field"), [
    ({"n": 1, "epsilon0": 1.0, "delta": 1e-6}, "epsilon0"),
    ({"n": 10**6, "epsilon0": 0.0, "delta": 1e-6}, "epsilon0"),
    ({"n": 10**6, "epsilon0": 1.0, "delta": 0.0}, "delta"),
    ({"n": 10**6, "epsilon0": 1.0, "delta": 1.0}, "delta"),
])  # fmt: skip
def test_closed_form_outside_its_validity_is_refused_by_name(closed, members, field):
    with pytest.raises(FieldError) as refused:
        closed(**members)
    assert refused.value.field == field
