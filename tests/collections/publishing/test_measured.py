"""Collections of the figures and examples of SAA by the real devices, leader and helper, in this process."""

import math
import random
from typing import Any

import pytest
import scipy

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.statistics.randomized.categories import Categories, CategoriesParameters
from recipes.models import Recipe
from research.reproduction import histogram_errors as errors
from research.reproduction.histogram_errors import Setting
from research.reproduction.measured import Point
from research.reproduction.sampled_gaussian import noise_multiplier
from results.models import Release
from tests.collections.publishing.scene import (
    honest_reports,
    randomized,
    result_of_reports,
    two_server_recipe,
)
from tests.reproduced import reproduced

pytestmark = pytest.mark.django_db

SETTING = Setting(population=2_000, reports=200, buckets=24, tasks=1)
TARGETED = Setting(population=2_000, reports=300, buckets=24, tasks=1, share=0.1)


def collected(asked: Any, measurements: list[tuple[int, ...]], **members: Any) -> Release:
    """The result of a recipe of `categories` with the parameters of another statistic."""
    stated = asked.parameters
    members |= {name: getattr(stated, name) for name in ("k", "epsilon", "delta", "cohort_size")}
    recipe = two_server_recipe(simulation=True, steps=None, statistic="categories", **members)
    return released_whole(recipe, measurements)


def released_whole(recipe: Recipe, measurements: list[tuple[int, ...]]) -> Release:
    """The result of devices with these measurements, none of which is refused."""
    release, refused = result_of_reports(recipe, honest_reports(recipe, measurements))
    assert refused == []
    assert (release.outcome, release.reason, release.rejected) == (Release.Outcome.RELEASED, "", {})
    return release


def test_collection_lies_on_the_line_of_figure_2() -> None:
    """SAMPAGG, by `categories`. A point is missed with 1e-6; the servers find the sum of all reports."""
    point = Point(SETTING, noise_multiplier(SETTING.sampling_rate, 1, 1.0, 1e-6), seed=1)
    asked = point.statistic()
    measurements = list(point.measurements(asked))
    release = collected(asked, measurements, sampling_rate=asked.parameters.sampling_rate)
    low, high = point.ends(errors.aggregated(SETTING, point.sigma))
    found = point.squared_error(release.values)
    assert low <= found <= high
    assert found == pytest.approx(point.measured(), rel=1e-9)


def test_importance_sampling_lies_on_the_line_of_figure_3() -> None:
    """SAMPAGG of the sparse histogram, by devices of `relayed`. The servers run a recipe of `categories`:
    what they verify and add up is the same, and neither token nor relay changes a sum."""
    point = Point(TARGETED, noise_multiplier(TARGETED.targeted_rate, 1, 1.0, 1e-6), seed=2)
    asked = point.statistic()
    measurements = list(point.measurements(asked))
    release = collected(asked, measurements)
    reports = len(measurements)
    assert release.reports == reports
    # What the servers added up, from what they made of it as `categories`.
    plain: Any = asked
    absent, present = plain.places.absent[1], plain.places.present[1]
    total = [round(value * (present - absent) + reports * absent) for value in release.values]
    low, high = point.ends(errors.sparse_sampled(TARGETED, point.sigma))
    found = point.squared_error(asked.estimate(total, reports).values)
    assert low <= found <= high
    assert found == pytest.approx(point.measured(), rel=1e-9)


@pytest.mark.parametrize(
    ("devices", "rate"),
    [
        pytest.param(400, 1.0, id="Example 4, few devices"),
        pytest.param(20_000, 0.02, id="Example 6, a fiftieth of its devices", marks=pytest.mark.long),
    ],
)
def test_rappor_of_examples_4_and_6_is_as_precise_as_computed(devices: int, rate: float) -> None:
    """ε₀ = 4. Squared errors of ten categories, as multiples of their variance, lie within the range that
    chi-square of 10 leaves with 5e-7; a tenth is allowed for reports not being normal."""
    source = random.Random(4)
    recipe = two_server_recipe(
        simulation=True,
        steps=None,
        statistic="categories",
        k=10,
        epsilon=4.0,
        delta=1e-10,
        cohort_size=100,
        sampling_rate=rate,
    )
    asked: Any = recipe.published.calibrated_statistic
    values = [source.randrange(10) for _ in range(devices)]
    sent = randomized(recipe, (value for value in values if source.random() < rate), source)
    release = released_whole(recipe, sent)
    p = 1 / (math.exp(4) + 1)
    variance = devices / rate * p * (1 - p) / (1 - 2 * p) ** 2 + devices / 10 * (1 - rate) / rate
    truth = asked.truth({value: values.count(value) for value in range(10)})
    off = sum((value - true) ** 2 for value, true in zip(release.values, truth, strict=True)) / variance
    assert scipy.stats.chi2.ppf(2.5e-7, 10) < off < scipy.stats.chi2.isf(2.5e-7, 10) * 1.1


def test_recipe_of_example_4_states_the_losses_that_are_computed() -> None:
    asked = Categories(CategoriesParameters(k=10, epsilon=4.0, delta=1e-10, cohort_size=10_000).calibrated())
    stated = {
        guarantee.relation: guarantee.epsilon
        for guarantee in asked.open_guarantees()
        if guarantee.model is Model.AGGREGATOR and guarantee.dishonest_fraction == 0
    }
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE):
        computed = reproduced("Example 4", "ε of the sum of 10,000 RAPPOR", relation)
        # A little more: drawing heavy reports again costs some of δ.
        assert computed <= stated[relation] * (1 + 1e-3)
        assert stated[relation] == pytest.approx(computed, rel=0.02)


def test_mean_of_vectors_is_as_noisy_as_examples_3_and_5_ask_for() -> None:
    """σ of the smallest noise with ε = 1 and δ = 1e-8, from devices to the released mean.

    σ is of vectors that differ by 1, and ours are replaced: up to 2 apart and rounded, so the noise is
    2·σ·(1 + what rounding adds). Squared errors of 31 coordinates, as multiples of their variance, lie in the
    range that chi-square of 31 leaves with 5e-7 on each side. Errors are sums of 48 discrete Gaussians, which
    are normal to 1e-12, and of roundings with less than a 10,000th of their variance.
    """
    devices, dimension = 48, 31
    recipe = two_server_recipe(
        simulation=True,
        steps=None,
        statistic="vector_mean",
        dimension=dimension,
        epsilon=1.0,
        delta=1e-8,
        cohort_size=devices,
    )
    asked: Any = recipe.published.calibrated_statistic
    steps, scale = asked.parameters.steps_to_one, asked.parameters.required_noise_scale
    sigma = reproduced("Example 3", "smallest σ of a Gaussian sum with ε = 1", Relation.ADD_REMOVE)
    noise = scale * math.sqrt(devices) / steps
    assert 2 * sigma < noise < 2 * sigma * 1.02
    source = random.Random(5)
    value = tuple(math.cos(place) / 8 for place in range(dimension))
    sent = randomized(recipe, [value] * devices, source)
    release, _ = result_of_reports(recipe, honest_reports(recipe, sent))
    assert release.reports == devices
    off = sum((found - true) ** 2 for found, true in zip(release.values, value, strict=True))
    ratio = off / (noise / devices) ** 2
    assert scipy.stats.chi2.ppf(5e-7, dimension) < ratio < scipy.stats.chi2.isf(5e-7, dimension) * 1.01
