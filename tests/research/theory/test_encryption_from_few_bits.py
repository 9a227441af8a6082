"""Exact laws of Theorem 6.2's ciphertexts: by a second method, against ε/√T, and where it fails."""

import itertools
import math

import numpy as np
import pytest

from research.theory import encryption_from_few_bits as theory
from research.theory.encryption_from_few_bits import FewBits

BITS = (1, 3)
EPSILONS = (0.1, 0.5, 1.0)


def step_by_step(counter, event_at, steps):
    """The law of one device's state after `steps` steps, vector times matrix; no event if `event_at` is 0."""
    law = np.eye(2**counter.bits)[counter.start]
    for step in range(1, steps + 1):
        law = law @ counter.transitions(step == event_at)
    return law


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("steps", [2, 4, 6, 30, 64])
def test_laws_by_squaring_are_those_of_single_steps(bits, steps):
    counter, half = FewBits(bits, steps, 0.7), steps // 2
    for later in {0, 1, half}:
        laws, _ = theory.ciphertext_laws(counter, later)
        without = step_by_step(counter, 0, half + later)
        with_event = np.mean([step_by_step(counter, t, half + later) for t in range(1, half + 1)], axis=0)
        assert laws == pytest.approx(np.stack([without, with_event]), rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_all_states_together_cost_epsilon_and_no_less(bits, epsilon):
    # Every path of all states, against the same path with one event: the intruder sees each state.
    counter, steps = FewBits(bits, 6, epsilon), 3
    without, with_event = counter.transitions(False), counter.transitions(True)
    assert without.sum(axis=1) == pytest.approx(1)
    assert with_event.sum(axis=1) == pytest.approx(1)
    losses = []
    for path in itertools.product(range(2**bits), repeat=steps):
        moves = list(itertools.pairwise((counter.start, *path)))
        never = math.prod(without[move] for move in moves)
        for event_at in range(steps):
            once = math.prod((with_event if t == event_at else without)[move] for t, move in enumerate(moves))
            assert (never > 0) == (once > 0)
            if never > 0:
                losses.append(abs(math.log(once / never)))
    assert max(losses) == pytest.approx(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("steps", [2, 4, 16, 64, 256, 1024, 2**14])
def test_one_device_is_within_lemma_3_2_and_epsilon_over_root_t(steps, epsilon):
    bound = theory.largest(steps, epsilon)
    assert all(theory.one_device(bits, steps, epsilon) <= bound * (1 + 1e-9) for bits in BITS)
    # Theorem 12 over T/2 steps; sinh(ε/2)·√2 is below ε up to ε = 1.
    assert bound <= math.sinh(epsilon / 2) * math.sqrt(2 / steps) * (1 + 1e-9)
    assert bound < theory.printed(steps, epsilon)


def test_distance_of_few_bits_falls_as_one_over_t_not_its_root():
    for bits in BITS:
        ratio = theory.one_device(bits, 2**14, 0.5) / theory.one_device(bits, 2**16, 0.5)
        assert ratio == pytest.approx(4, rel=0.01)
    assert theory.largest(2**14, 0.5) / theory.largest(2**16, 0.5) == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("steps", [4, 64, 256])
def test_lemma_3_2_bounds_total_variation_not_the_ratio(steps, epsilon):
    laws = theory.sum_laws(steps, epsilon)
    assert theory.distance(laws) == pytest.approx(theory.largest(steps, epsilon))
    # The proof's word: O(ε/√T)-indistinguishable. With δ = 0 it is ε, whatever T is.
    assert theory.ratio(laws) == pytest.approx(epsilon)


@pytest.mark.parametrize(("devices", "steps"), [(1, 4), (2, 16), (5, 16), (9, 4)])
def test_distance_of_all_devices_is_the_sum_over_all_states(devices, steps):
    laws, _ = theory.ciphertext_laws(FewBits(1, steps, 1.0))
    exact = sum(
        abs(math.prod(laws[0][list(states)]) - math.prod(laws[1][list(states)]))
        for states in itertools.product((0, 1), repeat=devices)
    )
    assert theory.all_devices(devices, steps, 1.0) == pytest.approx(exact / 2)
    # The hybrid argument.
    assert exact / 2 <= devices * theory.distance(laws) * (1 + 1e-9)


def test_many_devices_exceed_the_security_of_theorem_6_2_as_printed():
    for steps in (4, 64, 256, 1024):
        assert theory.all_devices(theory.DEVICES, steps, 0.5) > theory.printed(steps, 0.5)
    assert theory.all_devices(1, 64, 0.5) < theory.printed(64, 0.5)


@pytest.mark.parametrize("steps", [4, 16, 64])
def test_bit_that_devices_decrypt_is_read_without_a_key(steps):
    wrong = [theory.wrong_bit_probability(devices, steps, 1.0) for devices in (1_001, 30_001, 1_000_001)]
    assert wrong == sorted(wrong, reverse=True)
    assert wrong[-1] < 1e-6
    # Dec is a test between the two laws; it cannot separate them better than their distance.
    for devices, error in zip((1_001, 30_001, 1_000_001), wrong, strict=True):
        assert theory.all_devices(devices, steps, 1.0) >= 1 - 2 * error


@pytest.mark.parametrize("devices", [1, 2, 7, 8])
def test_wrong_bit_is_the_sum_over_all_last_states(devices):
    laws, _ = theory.ciphertext_laws(FewBits(1, 4, 1.0), 2)
    wrong = [0.0, 0.0]
    for states in itertools.product((0, 1), repeat=devices):
        estimate = (sum(states) - devices * laws[0][1]) / (laws[1][1] - laws[0][1])
        for bit in (0, 1):
            wrong[bit] += math.prod(laws[bit][list(states)]) * (int(estimate >= devices / 2) != bit)
    assert theory.wrong_bit_probability(devices, 4, 1.0) == pytest.approx(max(wrong))


@pytest.mark.parametrize("bits", BITS)
def test_rerandomizing_never_separates_and_leaves_what_dec_sees(bits):
    counter, half = FewBits(bits, 32, 1.0), 16
    distances = []
    for done in range(half + 1):
        laws, _ = theory.ciphertext_laws(counter, done)
        distances.append(theory.distance(laws))
        rest, _ = theory.power(counter.transitions(False), half - done)
        assert laws @ rest == pytest.approx(theory.ciphertext_laws(counter, half)[0], abs=1e-12)
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(distances))
    assert distances[0] < theory.printed(32, 1.0)


def test_rerandomizations_end_at_half_of_t_unlike_in_theorem_6_2():
    counter = FewBits(1, 32, 1.0)
    theory.ciphertext_laws(counter, 16)
    for more in (17, 31, -1):
        with pytest.raises(ValueError, match=r"rerandomizations must be in 0\.\.16"):
            theory.ciphertext_laws(counter, more)


@pytest.mark.parametrize("bits", BITS)
def test_one_step_links_a_ciphertext_to_its_origin_unlike_definition_2_8(bits):
    # An attacker who guesses "same origin" if the state has not changed: a lower bound by a second method.
    for steps in (64, 1024, 2**14):
        counter = FewBits(bits, steps, 0.5)
        (first, _), (_, other) = (theory.ciphertext_laws(counter, k)[0] for k in (0, 1))
        unchanged = first @ np.diag(counter.transitions(False)) - first @ other
        assert unchanged - 1e-12 <= theory.linked(counter) <= 1
        assert unchanged > 0.3 > 4 * theory.printed(steps, 0.5)


def test_linked_pairs_are_those_of_a_sum_over_both_states():
    counter = FewBits(1, 4, 1.0)
    first = step_by_step(counter, 0, 2)
    other = (step_by_step(counter, 1, 3) + step_by_step(counter, 2, 3)) / 2
    stay = counter.transitions(False)
    pairs = itertools.product((0, 1), repeat=2)
    exact = sum(abs(first[one] * stay[one, two] - first[one] * other[two]) for one, two in pairs) / 2
    assert theory.linked(counter) == pytest.approx(exact)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 8, 100])
def test_power_is_the_repeated_product(exponent):
    matrix = FewBits(3, 16, 1.0).transitions(True)
    expected = np.eye(8)
    for _ in range(exponent):
        expected = expected @ matrix
    powered, multiplications = theory.power(matrix, exponent)
    assert powered == pytest.approx(expected)
    assert multiplications <= 2 * math.log2(exponent or 1) + 1


def test_multiplications_grow_by_one_whenever_t_doubles():
    for bits in BITS:
        counts = [theory.ciphertext_laws(FewBits(bits, 2**k, 0.5))[1] for k in range(1, 21)]
        # Whatever S is: only the size of the matrices, 2·2^S, depends on it.
        assert counts == list(range(1, 21))


@pytest.mark.parametrize(("values", "words"), [
    ((0, 4, 1.0), "bits must be at least 1"),
    ((1, 0, 1.0), "steps must be even and at least 2"),
    ((1, 5, 1.0), "steps must be even and at least 2"),
    ((1, 4, 0.0), "epsilon must be above 0"),
])  # fmt: skip
def test_counter_out_of_range_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        FewBits(*values)
