"""An installation with many results, to measure its pages: `benchmarks.pages` beside it.

Run from the repository's root: `python -m benchmarks.filled_site --recipes 200`. It fills a data directory of
its own, serves it until it is interrupted, and prints the address and an account. There are recipes with a
result and open ones, half of them with a name that is written from right to left; a series of 400 rounds by
five segments; a histogram of 300 buckets; and populations that pay for the open ones.

No device is simulated: each sum is drawn as reports would make it, and released by the operation that
releases all results.
"""

import argparse
import secrets
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.local_site import MEMBERS, prepare

DEVICES = 3_000
BUCKETS = 300
ROUNDS = 400
VERSIONS = ("2.0", "2.1", "2.2", "3.0 (nightly)", "גרסה 4")
NAMES = ("Crashes after an update", "תקלות אחרי עדכון")
SHARING = 20
"""Recipes that share a population's budget."""

PORT = 8_100


def result_draw(recipe: Any, having: Any, rng: np.random.Generator) -> None:
    """Close a recipe and release its result.

    Args:
        having: how many of `DEVICES` devices have each of the bits that a report has.
    """
    from publishing.publication import recipe_close
    from results.operations import _conclude
    from results.outcomes import Sum

    flip = recipe.published.calibrated_statistic._response.flip_probability
    ones = rng.binomial(having, 1 - flip) + rng.binomial(DEVICES - np.asarray(having), flip)
    recipe = recipe_close(recipe=recipe, actor=None)
    _conclude(recipe, Sum(tuple(int(one) for one in ones.ravel()), DEVICES), actor=None)


def series_fill(rounds: int, rng: np.random.Generator) -> None:
    """A weekly series by segment; one segment gets worse in the last tenth of it."""
    from django.utils import timezone

    from panprivacy.recipe.series import SeriesDraft
    from publishing.publication import recipe_publish_file
    from series.models import Round
    from series.operations import series_publish_simulated

    asked = {"name": "Crashes by version", "every": "week", "rounds": rounds, "segments": list(VERSIONS)}
    draft = SeriesDraft.from_mapping({**MEMBERS, **asked, "epsilon": 3.0})
    series = series_publish_simulated(draft=draft, rounds=rounds)
    size, now = DEVICES // len(VERSIONS), timezone.now().replace(microsecond=0)
    for number in range(1, rounds + 1):
        opens_at = now - (rounds - number) * draft.shortest
        recipe = recipe_publish_file(
            members=draft.round(number, rounds, opens_at).as_dict(), actor=None, simulation=True
        )
        Round.objects.create(
            series=series, number=number, opens_at=opens_at, state=Round.State.PUBLISHED, recipe=recipe
        )
        shares = np.full(len(VERSIONS), 0.05)
        shares[1] += 0.2 * (number > 0.9 * rounds)
        crashed = np.round(shares * size).astype(int)
        result_draw(recipe, np.stack([size - crashed, crashed], axis=-1), rng)


def recipes_fill(recipes: int, rng: np.random.Generator) -> None:
    """Recipes, every second one with a result, and a histogram."""
    from ledger.budget import Budget
    from ledger.operations import population_create
    from publishing.publication import recipe_publish_file

    for number in range(recipes):
        population = f"phones-{number // SHARING}"
        if number % SHARING == 0:
            budget = Budget(epsilon=4.0, delta=1e-5)
            population_create(name=population, description="", budget=budget, actor=None)
        name = f"{NAMES[number % len(NAMES)]} {number}"
        members = {**MEMBERS, "name": name, "population": population}
        recipe = recipe_publish_file(members=members, actor=None, simulation=number % 2 == 0)
        if number % 2 == 0:
            result_draw(recipe, [int(rng.integers(DEVICES // 10))], rng)
    members = {
        **MEMBERS,
        "name": "Events per device",
        "statistic": "histogram",
        "k": BUCKETS - 1,
        "coin": "bucket",
    }
    recipe = recipe_publish_file(members=members, actor=None, simulation=True)
    weights = 1 / np.arange(1, BUCKETS + 1)
    result_draw(recipe, rng.multinomial(DEVICES, weights / weights.sum()), rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipes", type=int, default=9, help="recipes besides the series and the histogram")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of the series")
    parser.add_argument("--port", type=int, default=PORT)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="panapp-filled-") as directory:
        prepare(Path(directory))
        from django.contrib.auth.models import Group, User

        from simulations.installation.shared_installation import shared_installation

        rng = np.random.default_rng(1)
        series_fill(arguments.rounds, rng)
        recipes_fill(arguments.recipes, rng)
        password = secrets.token_urlsafe(9)
        user = User.objects.create_user("analyst", password=password)
        user.groups.set(Group.objects.filter(name="Analysts"))
        with shared_installation(partners=(), warn=print, lasts=True, port=arguments.port) as services:
            print(f"--site {services.base_url} --account analyst:{password}", flush=True)
            while True:
                services.check()
                time.sleep(1)


if __name__ == "__main__":
    main()
