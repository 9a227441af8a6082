"""The recipe files in examples/ that docs/commands.md gives to `collect`: they fit the files beside them."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from devices_sim.devices import simulated_class
from devices_sim.workloads.flights import flights, home_airports
from examples.federated_learning import (
    ROUNDS,
    clipped,
    flights_by_aircraft,
    model_of,
    moved,
    recipe,
    together,
)
from examples.targeting import AIRLINE, ASKED, ATTRIBUTE, COUNT, VALUES, targeted
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.public_input import RoundInput
from panprivacy.recipe.targeting.sizes import FAILURE_PROBABILITY, Sizes, require_apart, require_large
from panprivacy.recipe.targeting.target import ALL_DEVICES
from panprivacy.statistics.randomized import SIZE_BOUNDS
from panprivacy.statistics.randomized.categories import Categories
from panprivacy.statistics.trust_models import TRUST_MODELS
from recipes.recipe_file import has_rounds, read_recipe_file

ROOT = Path(__file__).resolve().parents[2]
COLLECTED = re.findall(
    r"manage\.py collect (examples/\S+) --(events|values) (examples/\S+)",
    (ROOT / "docs/commands.md").read_text(),
)


@pytest.mark.parametrize(("recipe", "option", "devices"), COLLECTED)
def test_a_command_of_the_docs_has_a_cohort_and_the_devices_for_it(
    recipe: str, option: str, devices: str
) -> None:
    """What `collect` does with them takes up to a minute each; this is what it refuses before."""
    members = read_recipe_file(ROOT / recipe)
    rounds = RoundsDraft.from_mapping(members) if has_rounds(members) else None
    draft = RecipeDraft.from_mapping(members) if rounds is None else rounds.recipe
    simulated = simulated_class(draft)(draft.calibrated_statistic())
    assert simulated.option == option
    with simulated.workload(ROOT / devices):
        pass  # every row was read
    with (ROOT / devices).open() as lines:
        found = {line.split(",")[0] for line in lines} - {"device"}
    likely = TRUST_MODELS[draft.trust].release_probability(
        members["cohort_size"], len(found), simulated.statistic.reporting_rate
    )
    assert likely >= 1 - 1e-6


def test_the_docs_collect_each_kind_of_value_and_rounds() -> None:
    named = {Path(recipe).stem for recipe, _, _ in COLLECTED}
    assert {"recipe", "categories", "rare_categories", "vector_mean", "rounds", "shuffle"} <= named


@pytest.fixture(scope="module")
def aircraft():
    return flights_by_aircraft()


def test_gradient_is_the_slope_of_the_loss(aircraft):
    given = RoundInput.made(of="0" * 64, number=1, content={"model": [0.5, -1, 0, 1, -0.5, 0, 0.25, 1]})
    flights, model = next(iter(aircraft.values())), model_of(given)

    def loss(at):
        margins = np.where(flights.late > 0, 1, -1) * (flights.features @ at)
        return np.mean(np.log1p(np.exp(-margins)))

    slope = [(loss(model + step) - loss(model - step)) / 2e-6 for step in np.eye(8) * 1e-6]
    assert model == pytest.approx(given.content["model"])
    assert flights.gradient(model) == pytest.approx(slope, abs=1e-7)
    assert np.linalg.norm(clipped(flights.gradient(model) * 1e3)) == pytest.approx(1.0)


def test_training_without_noise_predicts_better_than_to_say_never(aircraft):
    unseen = together([found for place, found in enumerate(aircraft.values()) if place % 5 == 0])
    training = [found for place, found in enumerate(aircraft.values()) if place % 5]
    model = np.zeros(8)
    for number in range(10):
        model = moved(model, np.mean([clipped(found.gradient(model)) for found in training], axis=0), number)
    assert unseen.accuracy(model) > 1 - unseen.late.mean() + 0.05


@pytest.mark.long
def test_all_rounds_have_a_promise_that_two_servers_can_keep():
    stated = PublishedRounds.of(RoundsDraft.from_mapping(recipe(8)), series="0" * 16, simulation=True)
    stated.require_promise()
    honest = {one["model"]: one["epsilon"] for one in stated.privacy if one["dishonest_fraction"] == 0}
    assert honest["sampled"] < 1 < honest["aggregator"] < ROUNDS


def test_the_count_shows_that_the_target_and_the_others_are_large_enough() -> None:
    """Also where each estimate is 20 devices too low. A bit is flipped with 0.018, so that estimates of 510
    devices have a standard error of 3.1: they are as low as that with a probability below 1e-9."""
    asked = RecipeDraft.from_mapping(targeted("0" * 64)).target
    assert asked is not None
    assert asked.target.where == {ATTRIBUTE: ASKED}
    names = {name for name, _ in flights(AIRLINE)}
    homes = Counter(VALUES[int(home)] for name, home in home_airports() if name in names)
    count = RecipeDraft.from_mapping(COUNT).calibrated_statistic()
    assert isinstance(count, Categories)
    reports, flip = homes.total(), 1 / (1 + 2.718281828**4)
    ones = [round((homes[value] - 20) * (1 - 2 * flip) + reports * flip) for value in VALUES]
    estimates = count.estimate(ones, reports).values
    *bounds, population_size = SIZE_BOUNDS[count.statistic](count).between(
        list(estimates), reports, FAILURE_PROBABILITY
    )
    sizes = {ATTRIBUTE: Sizes(dict(zip(VALUES, bounds, strict=True)), population_size)}
    smallest = targeted("0" * 64)["smallest_target"]
    require_large(asked.target, sizes, smallest)
    require_apart(asked.target, [ALL_DEVICES], sizes, smallest)
