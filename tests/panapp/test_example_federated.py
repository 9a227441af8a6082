"""The example of federated learning without its servers: what devices compute, and what each round asks."""

import numpy as np
import pytest

from examples.federated_learning import (
    ROUNDS,
    Round,
    clipped,
    drawn,
    features_of,
    flights_by_aircraft,
    model_of,
    moved,
    recipe,
    say_privacy,
    together,
)
from panprivacy.rounds.document import PublishedRounds
from panprivacy.rounds.draft import RoundsDraft
from panprivacy.rounds.public_input import RoundInput


@pytest.fixture(scope="module")
def aircraft():
    return flights_by_aircraft()


def test_gradient_is_the_slope_of_the_loss(aircraft):
    flights, model = next(iter(aircraft.values())), np.linspace(-1, 1, 8)

    def loss(at):
        margins = np.where(flights.late > 0, 1, -1) * (flights.features @ at)
        return np.mean(np.log1p(np.exp(-margins)))

    slope = [(loss(model + step) - loss(model - step)) / 2e-6 for step in np.eye(8) * 1e-6]
    assert flights.gradient(model) == pytest.approx(slope, abs=1e-7)
    assert np.linalg.norm(clipped(flights.gradient(model) * 1e3)) == pytest.approx(1.0)


def test_training_without_noise_predicts_better_than_to_say_never(aircraft):
    unseen = together([found for place, found in enumerate(aircraft.values()) if place % 5 == 0])
    training = [found for place, found in enumerate(aircraft.values()) if place % 5]
    model = np.zeros(8)
    for number in range(10):
        model = moved(model, np.mean([clipped(found.gradient(model)) for found in training], axis=0), number)
    assert unseen.accuracy(model) > 1 - unseen.late.mean() + 0.05


def test_all_rounds_are_one_recipe():
    draft = RoundsDraft.from_mapping(recipe(8))
    assert (draft.rounds, draft.public_input, draft.recipe.trust) == (ROUNDS, True, "two_server")


@pytest.mark.long
def test_all_rounds_have_a_promise_that_two_servers_can_keep():
    stated = PublishedRounds.of(RoundsDraft.from_mapping(recipe(8)), series="0" * 16, simulation=True)
    stated.require_promise()
    honest = {one["model"]: one["epsilon"] for one in stated.privacy if one["dishonest_fraction"] == 0}
    assert honest["sampled"] < 1 < honest["aggregator"] < ROUNDS


def test_devices_read_the_model_out_of_the_public_input():
    given = RoundInput.made(of="0" * 64, number=1, content={"model": [0.5, -1]})
    assert model_of(given) == pytest.approx([0.5, -1.0])


def test_features_are_eight_numbers_known_at_departure():
    row = {"dep_delay": "600", "hour": "21", "distance": "1050", "origin": "JFK", "carrier": "EV"}
    assert features_of(row) == pytest.approx([1, 2, 1, 1, 0, 0, 1, 1])


def test_chart_has_both_accuracies():
    rounds = [Round(number, 100, 0.8, 0.9, 1.0) for number in range(1, 4)]
    assert "with privacy" in drawn(rounds)
    assert drawn(rounds).startswith("<svg")


def test_privacy_is_told_in_the_notation_of_the_pages(capsys):
    stated = [
        {"model": model, "epsilon": 1.0, "dishonest_fraction": 0.0} for model in ("sampled", "aggregator")
    ]
    say_privacy(stated)
    assert "at δ = 1e-6, replacing" in capsys.readouterr().out
