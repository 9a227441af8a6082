"""The noise of a mean: which table is inverted, and that inverting it is the same work whatever is drawn.

That the values have their probabilities is in tests/statistical/test_discrete_gaussian_sampler.py.
"""

import gc
import random
import sys
from fractions import Fraction
from functools import partial

import pytest
from mpmath import mp

from panprivacy.statistics.events import discrete_gaussian
from panprivacy.statistics.events.discrete_gaussian import BITS, sample
from panprivacy.statistics.events.mean import Mean, MeanParameters
from tests.panprivacy.statistics.events.transparent import TransparentPublicKey


class Chosen(random.Random):
    """Draws these numbers, and remembers how many bits were asked for; everything else is 0."""

    def __init__(self, *numbers):
        super().__init__(0)
        self.numbers, self.asked = list(numbers), []

    def getrandbits(self, k, /):
        self.asked.append(k)
        return self.numbers.pop(0) if self.numbers else 0


def entries(scale, largest):
    """Pr[|X| ≤ x] given |X| ≤ t, for x = 0..t − 1, by definition with 120 digits."""
    with mp.workdps(120):
        s = mp.mpf(scale.numerator) / scale.denominator
        weights = [(1 if x == 0 else 2) * mp.exp(-(mp.mpf(x) ** 2) / (2 * s**2)) for x in range(largest + 1)]
        total, below, found = mp.fsum(weights), mp.mpf(0), []
        for weight in weights[:-1]:
            below += weight
            found.append(below / total)
        return found


CASES = [
    (Fraction(0.04), 3), (Fraction(0.473835), 6), (Fraction(7, 3), 30), (Fraction(1), 200),
    (Fraction(150.5), 1_800),
]  # fmt: skip


def as_numbers(scale, largest):
    words = discrete_gaussian._table(scale, largest).tolist()
    return [
        sum(word << (64 * i) for i, word in enumerate(reversed(entry))) for entry in zip(*words, strict=True)
    ]


@pytest.mark.parametrize(("scale", "largest"), CASES)
def test_table_is_right_to_its_last_bit(scale, largest):
    exact = entries(scale, largest)
    with mp.workdps(120):
        for entry, probability in zip(as_numbers(scale, largest), exact, strict=True):
            assert abs(entry - probability * mp.mpf(2) ** BITS) < 2


@pytest.mark.parametrize(("scale", "largest"), CASES)
def test_magnitude_is_how_many_entries_the_drawn_number_reaches(scale, largest):
    table = as_numbers(scale, largest)
    step = max(1, largest // 20)
    for x in range(0, largest, step):
        for drawn, negative in ((table[x], 0), (max(0, table[x] - 1), 1)):
            expected = sum(drawn >= entry for entry in table) * (1 - 2 * negative)
            assert sample(scale, largest, Chosen(drawn, negative)) == expected
    assert sample(scale, largest, Chosen(0, 1)) == 0
    reached = sum(entry <= 2**BITS - 1 for entry in table)
    assert sample(scale, largest, Chosen(2**BITS - 1, 1)) == -reached


def test_zero_is_drawn_once_and_every_other_magnitude_with_both_signs():
    scale, largest = Fraction(7, 3), 30
    zero = as_numbers(scale, largest)[0]
    assert sample(scale, largest, Chosen(zero - 1, 0)) == sample(scale, largest, Chosen(zero - 1, 1)) == 0
    assert [sample(scale, largest, Chosen(zero, sign)) for sign in (0, 1)] == [1, -1]
    assert sample(scale, 0, Chosen(2**BITS - 1, 1)) == 0


def steps_of(operation):
    """Every instruction of Python code that is executed, one after the other."""
    executed = []

    def traced(frame, event, _argument):
        frame.f_trace_opcodes = True
        if event == "opcode":
            executed.append((frame.f_code.co_filename, frame.f_code.co_name, frame.f_lasti))
        return traced

    operation()  # what is remembered of types and tables is so from now on
    before = sys.gettrace()
    gc.disable()  # what it calls for objects of other tests is no step of this one
    sys.settrace(traced)
    try:
        operation()
    finally:
        sys.settrace(before)
        gc.enable()
    return executed


def draws_of_every_size(scale, largest):
    """Numbers that give magnitudes 0, one, about s, about 3·s and t, with both signs."""
    table = as_numbers(scale, largest)
    last = max(x for x, entry in enumerate(table) if entry < 2**BITS)
    places = {0, 1, round(scale), round(3 * scale), last}
    return [(0, 0), *((table[x], sign) for x in sorted(places) for sign in (0, 1))]


def drawn_with(scale, largest, numbers):
    return sample(scale, largest, Chosen(*numbers))


def reported_with(mechanism, key, state, numbers):
    return mechanism.report(key, state, Chosen(*numbers))


def test_sample_executes_the_same_instructions_whatever_comes_out():
    scale, largest = Fraction(150.5), 1_800
    values, steps, asked = set(), [], []
    for numbers in draws_of_every_size(scale, largest):
        source = Chosen(*numbers)
        values.add(sample(scale, largest, source))
        asked.append(source.asked)
        steps.append(steps_of(partial(drawn_with, scale, largest, numbers)))
    assert len(values) == 11
    assert min(values) < -4 * scale < 4 * scale < max(values)
    assert len(steps[0]) > 50
    assert all(found == steps[0] for found in steps)
    assert all(found == [BITS, 1] for found in asked)


@pytest.fixture(scope="module")
def mechanism():
    return Mean(
        MeanParameters(steps=4, k=3, epsilon=1.0, delta=1e-6, cohort_size=100, guarantee="local").calibrated()
    )


def test_report_of_a_mean_executes_the_same_instructions(mechanism):
    parameters, key = mechanism.parameters, TransparentPublicKey()
    state = mechanism.start(key, random.Random(1))
    draws = draws_of_every_size(Fraction(parameters.noise_scale), parameters.largest_noise)
    reported = set()
    for numbers in draws:  # before any is measured: whatever is computed once is there
        reported.add(mechanism.report(key, state, Chosen(*numbers))[0].plaintext)
    steps = [steps_of(partial(reported_with, mechanism, key, state, numbers)) for numbers in draws]
    assert len(reported) > 8
    assert all(found == steps[0] for found in steps)


def test_report_of_a_mean_is_never_outside_what_a_server_accepts(mechanism):
    key, ends = TransparentPublicKey(), []
    for count, negative in ((0, 1), (4, 0)):
        state = mechanism.state_of_count(key, count, 4, random.Random(1))
        (ciphertext,) = reported_with(mechanism, key, state, (2**BITS - 1, negative))
        ends.append(ciphertext.plaintext)
    assert ends == [mechanism.allowed_values[0], mechanism.allowed_values[-1]]


@pytest.mark.parametrize(("scale", "largest", "named"), [
    (Fraction(0), 3, "scale"), (Fraction(-1), 3, "scale"), (Fraction(1), -1, "largest"),
    (Fraction(1), discrete_gaussian.LARGEST_MAGNITUDE + 1, "largest"),
])  # fmt: skip
def test_what_no_table_can_be_made_of_is_refused(scale, largest, named):
    with pytest.raises(ValueError, match=named):
        sample(scale, largest, random.Random(1))
