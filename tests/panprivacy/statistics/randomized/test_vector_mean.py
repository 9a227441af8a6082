"""The mean of vectors: the device's lattice, the server's estimate, and the promise, by second methods."""

import itertools
import math
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

from panprivacy.accounting.discrete_gaussian_sum import delta_of, variance
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import NO_LOCAL_LIMIT, RecipeLimits
from panprivacy.protocols.dap.vdafs import prio3_of
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.intervals.exact import bounds
from panprivacy.statistics.randomized.vector_mean import (
    Rotation,
    VectorMean,
    VectorMeanParameters,
    squares_bound,
)
from tests.panprivacy.protocols.dap.test_vdafs import configuration_of
from tests.panprivacy.statistics.intervals.left_out import leave_out_intervals
from tests.panprivacy.statistics.randomized.contract import RandomizerContract
from tests.refusals import field_refused


def vector_mean(**members):
    usual = {"epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000, "dimension": 5}
    return VectorMean(VectorMeanParameters(**{**usual, **members}).calibrated())


CORNERS = [
    {"dimension": dimension, "bits": bits, "cohort_size": cohort_size, "epsilon": epsilon, "delta": delta}
    for dimension, bits, cohort_size, epsilon, delta in [
        (1, 2, 2, 20.0, 0.1),
        (1, 14, 10**9, 20.0, 1e-30),
        (1_000, 2, 10**9, 0.01, 1e-30),
        (1_000, 14, 10**9, 20.0, 0.1),
        (1_000, 2, 2, 20.0, 0.1),
        (1_000, 14, 10**9, 0.01, 1e-6),
        (513, 9, 10_000, 1.0, 1e-8),
    ]
]


class TestContract(RandomizerContract):
    @pytest.fixture(params=[{"dimension": 3}, {"dimension": 2, "bits": 4, "sampling_rate": 0.5}], ids=str)
    def randomizer(self, request):
        return vector_mean(cohort_size=40, **request.param)

    @pytest.fixture
    def cells(self, randomizer):
        return [("0.5", "-1", "0")[: randomizer.parameters.dimension], ("3", "1e-3", " .2 ")[
            : randomizer.parameters.dimension]]  # fmt: skip

    def hostile(self, randomizer):
        offset, length = randomizer.parameters.offset, randomizer.contribution_length
        spread = math.isqrt(randomizer.parameters.largest_squares // length)
        alone = min(offset, math.isqrt(randomizer.parameters.largest_squares))
        ends = offset - spread, offset + spread
        return [[ends[0]] * length, list(ends) * (length // 2), [offset + alone] + [offset] * (length - 1)]


class Always(random.Random):
    """A source that draws one number again and again."""

    def __init__(self, drawn):
        super().__init__()
        self._drawn = drawn

    def random(self):
        return self._drawn


# The device ----------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 3, 8, 100, 1_000])
@pytest.mark.parametrize("bits", [2, 12])
def test_rounded_vectors_are_never_longer_than_the_stated_sensitivity(dimension, bits):
    """Vectors of length 1 and beyond, each coordinate rounded away from 0: worse than any draw."""
    parameters = VectorMeanParameters(
        epsilon=1.0, delta=1e-6, cohort_size=100, dimension=dimension, bits=bits
    )
    generator, statistic = np.random.default_rng(dimension), VectorMean(parameters)
    for vector in (generator.normal(size=dimension) * 9, np.eye(dimension)[0], np.ones(dimension) * 1e200):
        down, up = (statistic.rounded(vector.tolist(), Always(drawn)) for drawn in (1 - 2.0**-53, 0.0))
        longest = np.maximum(np.abs(down), np.abs(up))
        assert (parameters.steps_to_one * 0.99) ** 2 <= int((longest**2).sum()) <= parameters.squared_length


@pytest.mark.parametrize(("bits", "dimension"), [(2, 1), (2, 3), (3, 1), (3, 3)])
def test_squared_length_is_the_largest_that_any_rounding_can_reach(bits, dimension):
    """All vectors of whole numbers that are a rounding of one of length at most 1, by definition: each
    coordinate is less than one step away from a point of the ball."""
    parameters = VectorMeanParameters(
        epsilon=1.0, delta=1e-6, cohort_size=100, dimension=dimension, bits=bits
    )
    steps = parameters.steps_to_one
    reached = [
        sum(z * z for z in point)
        for point in itertools.combinations_with_replacement(range(steps + 1), parameters.padded)
        if sum(max(0, z - 1) ** 2 for z in point) <= steps**2
    ]
    assert max(reached) <= parameters.squared_length <= max(reached) + 2 * steps + parameters.padded


def test_rounding_is_unbiased():
    """Means of 2,000 roundings of 8 coordinates: by Hoeffding's inequality and a union bound, any of them is
    further than `reach` from the exact one with probability 1e-6."""
    statistic, vector, draws = vector_mean(bits=3, dimension=7), [0.3, -0.2, 0.11, 0, 0.5, 0, -0.4], 2_000
    source = random.Random(5)
    mean = np.mean([statistic.rounded(vector, source) for _ in range(draws)], axis=0)
    exact = statistic.parameters.steps_to_one * Rotation(7, 0).rotated(vector)
    reach = math.sqrt(math.log(2 * 8 / 1e-6) / (2 * draws))
    assert np.abs(mean - exact).max() < reach


def test_zero_vector_is_sent_as_noise_alone():
    """The reference of adding and removing: rounding adds nothing to it."""
    statistic = vector_mean(dimension=7)
    assert statistic.rounded((0.0,) * 7, random.Random(0)) == (0,) * 8


def test_value_that_is_no_finite_number_is_refused_by_its_column():
    """One with underscores or other scripts' digits, too: other readers of the file take it for none."""
    for cell in ("inf", "-Infinity", "x", "1,5", None, "0x10", "1_0", "\u0663", "1" * 100_000 + "x"):
        with field_refused("x2"):
            vector_mean(dimension=3).value_of(["0", cell, "1"])


def test_value_of_another_length_is_refused():
    statistic = vector_mean(dimension=3)
    assert statistic.columns == ("x1", "x2", "x3")
    assert statistic.value_of(["0.5", "-1e-3", " 2 "]) == (0.5, -0.001, 2.0)
    with pytest.raises(FieldError, match="3 numbers"):
        statistic.value_of(["1", "2"])


# The server ----------------------------------------------------------------------


def estimate_of(statistic, vectors, seed=1):
    source, total = random.Random(seed), [0] * statistic.contribution_length
    for vector in vectors:
        statistic.add(total, statistic.randomize(vector, source))
    return statistic.estimate(total, len(vectors))


@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_estimate_lies_around_the_mean_of_the_clipped_vectors(dimension):
    """Within 6.5 standard errors in each coordinate: less than 1e-9 by the normal tail, times 20."""
    statistic, generator = vector_mean(dimension=dimension, epsilon=8.0), np.random.default_rng(3)
    vectors = [tuple(row) for row in generator.normal(size=(150, dimension)).tolist()]
    found = estimate_of(statistic, vectors)
    truth = statistic.truth(Counter(vectors))
    by_hand = np.mean([np.array(v) / max(1.0, float(np.linalg.norm(v))) for v in vectors], axis=0)
    assert truth == pytest.approx(by_hand, abs=1e-9)
    for value, error, exact in zip(found.values, found.standard_errors, truth, strict=True):
        assert abs(value - exact) < 6.5 * error
    assert np.linalg.norm(found.projection) <= 1 + 1e-12


def test_standard_error_is_that_of_repeated_estimates(monkeypatch):
    """χ² of 800 nearly normal errors over 800: outside of 1 ± 0.32 with probability below 4e-7
    (Laurent & Massart 2000, Lemma 1, x = 15.5: 2·√(x/N) + 2x/N = 0.317 above, 2·√(x/N) = 0.278 below)."""
    leave_out_intervals(monkeypatch)
    statistic = vector_mean(dimension=8, cohort_size=2, epsilon=2.0)
    vector = (0.2,) * 8
    squares = [
        ((value - 0.2) / error) ** 2
        for seed in range(100)
        for found in [estimate_of(statistic, [vector, vector], seed)]
        for value, error in zip(found.values, found.standard_errors, strict=True)
    ]
    assert 0.722 < np.mean(squares) < 1.317


def test_standard_errors_with_sampled_devices_take_in_their_choice():
    everybody, sampled = vector_mean(), vector_mean(sampling_rate=0.25)
    total = [1_000 * sampled.parameters.offset] * 8
    difference = (
        sampled.estimate(total, 1_000).standard_errors[0] ** 2
        - everybody.estimate(total, 1_000).standard_errors[0] ** 2
    )
    assert difference == pytest.approx(0.75 / 1_000, rel=1e-9)
    assert "choice" in sampled.estimate(total, 1_000).standard_error_note
    assert sampled.expected_standard_error(4_000) == pytest.approx(
        sampled.estimate(total, 1_000).standard_errors[0], rel=1e-9
    )


def test_noise_in_the_number_of_reports_moves_no_coordinate_by_its_offset():
    """Two servers publish that number with noise: offsets of 30 reports more would be far above the noise."""
    statistic = vector_mean(dimension=7, cohort_size=900)
    total = [900 * statistic.parameters.offset + 3 * place for place in range(8)]
    exact, noisy = statistic.estimate(total, 900), statistic.estimate(total, 930)
    shrunk = [value * 900 / 930 for value in exact.values]
    assert noisy.values == pytest.approx(shrunk, abs=1e-12)
    assert 30 * statistic.parameters.offset / 900 > 10 * exact.standard_errors[0]


def test_dishonest_device_moves_the_estimate_by_what_robustness_states(monkeypatch):
    """Any honest report replaced by the worst one, in a cohort: the longest, in the opposite direction."""
    leave_out_intervals(monkeypatch)
    statistic = vector_mean(dimension=3, cohort_size=10)
    offset, padded = statistic.parameters.offset, statistic.parameters.padded
    honest = [10 * offset] * padded
    bound, before = statistic.robustness, statistic.estimate(honest, 10).values
    largest, together = 0.0, 0.0
    spread = math.sqrt(statistic.parameters.largest_squares / padded)
    for signs in itertools.product((-1, 1), repeat=padded):
        moved = [entry + 2 * spread * sign for entry, sign in zip(honest, signs, strict=True)]
        moves = np.abs(np.subtract(statistic.estimate(moved, 10).values, before))
        largest, together = max(largest, moves.max()), max(together, moves.sum())
    assert largest == pytest.approx(bound.each)  # reached: the signs of one row of the matrix
    assert together <= bound.together


# Two servers ---------------------------------------------------------------------


def task_of(statistic, min_batch_size):
    configuration = configuration_of(statistic.vdaf_type, statistic.vdaf_message.encode())
    return replace(configuration, min_batch_size=min_batch_size)


@pytest.mark.parametrize("members", CORNERS)
def test_vdaf_takes_every_measurement_and_sums_of_a_cohort_fit_its_field(members):
    statistic = vector_mean(**members)
    vdaf = prio3_of(task_of(statistic, members["cohort_size"]))
    assert vdaf.circuit.output_length == statistic.contribution_length == statistic.report_ciphertexts
    assert 2 * vdaf.circuit.offset == statistic.allowed_values[-1]
    assert vdaf.largest_batch >= 10**9
    # Proofs are near the shortest: half or twice the chunk length gives no much shorter ones.
    message = statistic.vdaf_message
    for chunk in (max(1, message.chunk_length // 2), message.chunk_length * 2):
        other = prio3_of(replace(task_of(statistic, 2), vdaf_configuration=replace(
            message, chunk_length=chunk).encode()))  # fmt: skip
        assert vdaf.flp.proof_length <= 1.3 * other.flp.proof_length


# The accountant ------------------------------------------------------------------


@pytest.mark.parametrize("members", CORNERS)
def test_calibrated_noise_is_the_least_that_keeps_the_promise(members):
    parameters = vector_mean(**members).parameters
    VectorMean(parameters).require_promise()
    if parameters.noise_scale > 2:
        too_little = replace(parameters, noise_scale=parameters.noise_scale - 1e-6)
        with field_refused("noise_scale"):
            VectorMean(too_little).require_promise()


@pytest.mark.parametrize("members", CORNERS)
def test_promise_holds_by_the_exact_sum_for_a_move_along_one_axis(members):
    """A second method, exact on the lattice: all the sensitivity in one coordinate."""
    statistic = vector_mean(**members)
    parameters = statistic.parameters
    move = math.floor(parameters.sensitivity(Relation.REPLACE))
    for guarantee in statistic.open_guarantees():
        if guarantee.model is Model.AGGREGATOR and guarantee.relation is Relation.REPLACE:
            n = max(1, parameters.cohort_size - int(guarantee.dishonest_fraction * parameters.cohort_size))
            exact = delta_of(n, parameters.noise_scale, move, guarantee.epsilon)
            assert exact <= parameters.delta


def test_noise_beyond_its_bounds_is_as_rare_as_set_aside():
    """δ·2^−70 over a cohort, by the exact tail of one coordinate; as much for reports that are too long (next
    test); and e^40 times both is below δ/1024."""
    parameters = vector_mean(cohort_size=100, dimension=100).parameters
    scale, most = parameters.noise_scale, parameters.largest_noise
    x = np.arange(most + 1, most + 40 * int(scale), dtype=float)
    tail = 2 * float(np.exp(-(x**2) / (2 * scale**2)).sum()) / (scale * math.sqrt(2 * math.pi))
    assert tail * 100 * parameters.padded <= parameters.delta * 2.0**-70
    assert (2 + math.exp(40)) * 2.0**-69 < 2.0**-10
    largest = max(
        guarantee.epsilon
        for members in CORNERS
        for guarantee in vector_mean(**members).open_guarantees()
        if guarantee.model is Model.AGGREGATOR
    )
    assert largest < 40


def squares_tail(scale, squared_length, padded, above):
    """Pr[‖z + X‖² > above], with all of z's length in one coordinate, by convolving exact laws of squares."""
    reach, move = math.ceil(14 * scale), math.isqrt(squared_length)
    noise = np.arange(-reach, reach + 1)
    law = np.exp(-(noise**2) / (2 * scale**2))
    law /= law.sum()
    moved = np.bincount((noise + move) ** 2, law, above + 1)
    other = np.bincount(noise**2, law, above + 1)
    total = moved
    for _ in range(padded - 1):
        total = np.convolve(total[: above + 1], other[: above + 1])[: above + 1]
    return 1 - math.fsum(total[: above + 1])


@pytest.mark.parametrize(("scale", "squared_length", "padded"), [(2.0, 0, 2), (3.0, 100, 2), (2.0, 64, 4)])
def test_tail_bound_of_squares_holds_by_their_exact_law(scale, squared_length, padded):
    """At tails that double precision shows, with whole lengths."""
    for tail in (1e-3, 1e-6, 1e-9):
        above = squares_bound(squared_length, padded, scale, -math.log(tail))
        assert squares_tail(scale, squared_length, padded, above) <= tail
        assert squares_tail(scale, squared_length, padded, above // 2) > tail


@pytest.mark.parametrize("members", CORNERS)
def test_bound_on_squares_fits_the_task(members):
    assert vector_mean(**members).parameters.largest_squares < 2**64


def test_report_that_would_be_too_long_is_drawn_again(monkeypatch):
    """With a bound that a half of all reports exceed."""
    statistic = vector_mean(dimension=3, cohort_size=10)
    parameters = statistic.parameters
    usual = round(4 * parameters.noise_scale**2)
    monkeypatch.setattr(VectorMeanParameters, "largest_squares", usual)
    source = random.Random(7)
    drawn = [statistic.randomize((0.0,) * 3, source) for _ in range(100)]
    lengths = [sum((entry - parameters.offset) ** 2 for entry in report) for report in drawn]
    assert usual / 2 < max(lengths) <= usual


def test_report_alone_has_an_epsilon_only_if_its_noise_reaches_beyond():
    """In a cohort of two the noise hides a report; among a million its bounds alone give a vector away."""
    hidden, bare = vector_mean(cohort_size=2), vector_mean(cohort_size=10**6)
    assert hidden.local_guarantees()[0].epsilon == pytest.approx(1.4546, abs=1e-3)
    assert bare.local_guarantees()[0].epsilon is None
    with field_refused("epsilon", match="no local ε"):
        RecipeLimits().require_local(bare, whose="this site")
    RecipeLimits(largest_local_epsilon=NO_LOCAL_LIMIT).require_local(bare, whose="this site")


def test_noise_of_a_huge_cohort_stays_where_its_sum_is_known():
    """At least 2 steps, below which a sum of discrete Gaussians is none: the promise is kept and more."""
    statistic = vector_mean(cohort_size=10**9, bits=2)
    assert statistic.parameters.noise_scale == 2.0
    assert statistic.open_guarantees()[0].epsilon < 1.0


def test_more_noise_than_devices_can_draw_is_refused_by_name():
    with field_refused("epsilon"):
        vector_mean(epsilon=1e-6, cohort_size=2)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("dimension", 0), ("dimension", 1_001), ("bits", 1), ("bits", 15), ("rotation", -1), ("rotation", 2**32),
     ("noise_scale", 1.9), ("epsilon", 0), ("delta", 1), ("cohort_size", 1)],
)  # fmt: skip
def test_parameter_out_of_range_is_refused_by_name(field, wrong):
    members = {"epsilon": 1.0, "delta": 1e-6, "cohort_size": 100, "dimension": 3}
    with field_refused(field):
        VectorMeanParameters(**{**members, field: wrong})


def test_noise_of_example_3_as_printed_does_not_hide_a_replaced_vector():
    """σ = 5.1004 gives (1, 1e-8) where one vector is added. Replaced by its opposite, by the exact sum of one
    coordinate: δ is 1e-3 at ε = 1, and ε above 2 at 1e-8."""
    statistic = vector_mean(dimension=1, delta=1e-8, cohort_size=10_000)
    parameters = statistic.parameters
    printed = 5.1004 * parameters.steps_to_one / 100
    assert delta_of(10_000, printed, parameters.steps_to_one, 1.0) <= 1e-8
    assert delta_of(10_000, printed, 2 * parameters.steps_to_one, 1.0) > 1e-4
    assert delta_of(10_000, printed, 2 * parameters.steps_to_one, 2.0) > 1e-8
    with pytest.raises(FieldError, match="too small"):
        VectorMean(replace(parameters, noise_scale=printed)).require_promise()


@pytest.mark.parametrize(("dimension", "times"), [(1, 1.41), (7, 2.82), (63, 7.85), (1_000, 11.68)])
def test_proof_of_length_limits_a_device_by_the_stated_factor(dimension, times):
    """The numbers of docs/threat-model.md."""
    cohort_size = 100_000
    statistic = vector_mean(dimension=dimension, cohort_size=cohort_size)
    parameters, vdaf = statistic.parameters, prio3_of(task_of(statistic, 100))
    worst = [statistic.allowed_values[-1]] * parameters.padded
    with field_refused("measurement"):
        vdaf.circuit.encode(worst)
    without = 2 * parameters.offset * math.sqrt(parameters.padded) / parameters.steps_to_one / cohort_size
    assert without / statistic.robustness.each == pytest.approx(times, rel=0.01)
    stated = float(re.search(r"at most ([0-9.]+) units", statistic.robustness.sentence)[1])
    assert stated - 0.01 < math.sqrt(parameters.largest_squares) / parameters.steps_to_one <= stated


@pytest.mark.parametrize("trust", ["single_server", "shuffler", "curator"])
def test_mean_of_vectors_without_two_servers_is_refused(trust):
    """A single server would read what hides nothing, and have to decrypt it."""
    members = {
        "name": "Model",
        "question": "How should it change?",
        "statistic": "vector_mean",
        "epsilon": 1.0,
        "delta": 1e-6,
        "cohort_size": 100,
        "dimension": 3,
    }
    assert RecipeDraft.from_mapping({**members, "trust": "two_server"}).encryption is None
    with field_refused("trust"):
        RecipeDraft.from_mapping({**members, "trust": trust})


def test_expected_error_is_that_of_the_estimate():
    statistic = vector_mean(dimension=30)
    found = statistic.estimate([1_000 * statistic.parameters.offset] * 32, 1_000)
    assert statistic.expected_standard_error(1_000) == pytest.approx(found.standard_errors[0])
    noise = variance(statistic.parameters.noise_scale) / statistic.parameters.steps_to_one**2
    assert found.standard_errors[0] == pytest.approx(math.sqrt(noise / 1_000), rel=1e-3)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
def test_rounded_takes_every_finite_vector(vector):
    parameters = VectorMeanParameters(epsilon=1.0, delta=1e-6, cohort_size=100, dimension=3)
    found = VectorMean(parameters).rounded(vector, random.Random(0))
    assert sum(z * z for z in found) <= parameters.squared_length


@pytest.mark.parametrize("noisy", [False, True])
def test_intervals_are_the_bounds_of_each_coordinate_with_its_share(noisy):
    """Against the exact tests of the family, without rounding of estimates, a step further on either side."""
    statistic = vector_mean(dimension=3, cohort_size=100, epsilon=3.0, sampling_rate=0.3)
    asked = statistic.with_noisy_count() if noisy else statistic
    source, reports = random.Random(31), 120
    total = [0] * statistic.contribution_length
    for _ in range(reports):
        total = [a + b for a, b in zip(total, statistic.randomize((0.9, 0.0, -0.4), source), strict=True)]
    values, sums = asked.debiased(total, reports), asked.sums(reports)
    step = 2 / sums.most
    coarse = step * math.sqrt(reports) * sums.noise_scale / 16
    for interval in asked.estimate(total, reports).intervals:
        failure = (1 - interval.level) * (1 - asked.kept_for_noise) / 3
        for place, value in enumerate(values):
            seen = round((value + 1) / step)
            (low,), (high,) = bounds(sums, [seen], sums.most, failure)
            assert interval.low[place] == pytest.approx(max(step * low - 1, -1), abs=coarse + 2 * step)
            assert interval.high[place] == pytest.approx(min(step * high - 1, 1), abs=coarse + 2 * step)
            assert interval.low[place] < value < interval.high[place]


DIMENSIONS = [1, 2, 3, 8, 100, 513, 1_000]


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_rotated_is_the_product_with_the_matrix(dimension):
    rotation = Rotation(dimension, 7)
    signs = np.array([rotation.rotated(row)[0] for row in np.eye(dimension)]) * math.sqrt(rotation.padded)
    assert np.abs(signs) == pytest.approx(1.0)
    matrix = hadamard(rotation.padded)[:, 1 : dimension + 1] * signs / math.sqrt(rotation.padded)
    for vector in np.random.default_rng(dimension).normal(size=(2, dimension)):
        assert rotation.rotated(vector) == pytest.approx(matrix @ vector, abs=1e-12)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_rotation_keeps_lengths_and_turns_back(dimension):
    rotation = Rotation(dimension, 0)
    vector = np.random.default_rng(1).normal(size=dimension)
    rotated = rotation.rotated(vector)
    assert len(rotated) == rotation.padded > dimension >= rotation.padded / 2
    assert np.linalg.norm(rotated) == pytest.approx(np.linalg.norm(vector), rel=1e-13)
    # What is added to all rotated coordinates alike turns back to nothing.
    for shift in (0.0, 7.0):
        assert rotation.turned_back(rotated + shift) == pytest.approx(vector, abs=1e-12)


def test_rotation_follows_from_its_seed_alone():
    one = np.eye(63)[0]
    found = [tuple(np.sign(Rotation(63, seed).rotated(np.ones(63)))) for seed in (0, 0, 1, 2**64 - 1)]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert np.abs(Rotation(63, 0).rotated(one)) == pytest.approx(1 / 8)


def test_no_coordinate_of_a_fixed_vector_is_large_under_most_signs():
    """Hoeffding: any of 256 coordinates is above 4.5/√D with probability 0.021 at most. So of 200 seeds, 25
    or more have such a coordinate with probability 2e-12 at most."""
    vector = np.zeros(255)
    vector[:16] = 1 / 4
    beyond = [np.abs(Rotation(255, seed).rotated(vector)).max() > 4.5 / 16 for seed in range(200)]
    assert sum(beyond) < 25
