"""The example of a target without its servers: both recipes are valid, and there are enough aircraft."""

from collections import Counter

from devices_sim.workloads.flights import flights, home_airports
from examples.targeting import AIRLINE, ASKED, ATTRIBUTE, COUNT, POPULATION, VALUES, targeted
from panapp import demo_ledger
from panprivacy.randomizers.categories import Categories
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.targeting.sizes import FAILURE_PROBABILITY, Sizes, require_apart, require_large
from panprivacy.targeting.target import EVERYBODY


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
    *bounds, everybody = count.size_bounds(list(estimates), reports, FAILURE_PROBABILITY)
    sizes = {ATTRIBUTE: Sizes(dict(zip(VALUES, bounds, strict=True)), everybody)}
    smallest = targeted("0" * 64)["smallest_target"]
    require_large(asked.target, sizes, smallest)
    require_apart(asked.target, [EVERYBODY], sizes, smallest)


def test_its_population_is_none_of_the_demo_s() -> None:
    """The demo's has no attribute, and a population is declared once: with one name, the example would fail
    in a data directory of the demo."""
    assert POPULATION != demo_ledger.POPULATION
