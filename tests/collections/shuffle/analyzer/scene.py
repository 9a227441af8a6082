"""A site that is the analyzer, and a shuffler in the same process and database behind its own addresses.

The shuffler is the real one, with a signing key of its own; only HTTP is left out.
"""

import random
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from panprivacy.accounting.trust import Trust
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from partners.partner import Partner
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from results.aggregation.models import Chunk
from results.aggregation.operations import chunk_process
from results.models import Release
from shuffle.analyzer.batches import fetch_drive, fetches_take
from shuffle.analyzer.models import BatchFetch
from shuffle.analyzer.peers import shuffler_of
from tests import network
from tests.collections.shuffle.shuffler.scene import body_of, shuffle_members
from tests.driving import collections_advance
from tests.network import Answer, Transport, deliver, verification_key_of
from tests.network import unreachable as unreachable

ORIGIN = "https://shuffler.example"
SHUFFLER_URL = f"{ORIGIN}/shuffler"
SHUFFLER_SIGNING_KEY = bytes(range(32, 64))


def reached(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """A network that works."""
    with override_settings(
        SIGNING_KEY=SHUFFLER_SIGNING_KEY,
        ANALYZER_KEY=verification_key_of(settings.SIGNING_KEY),
        SHUFFLER_URL=SHUFFLER_URL,
        SMALLEST_COHORT=3,
    ):
        return deliver(method, url.removeprefix(ORIGIN), headers, body, urlconf="panapp.shuffler_urls")


def losing_answers(*methods: str) -> Transport:
    return network.losing_answers(reached, *methods)


def partners(transport: Any = reached, *, key: bytes | None = None) -> dict[Trust, Partner]:
    named = verification_key_of(SHUFFLER_SIGNING_KEY) if key is None else key
    return {Trust.SHUFFLER: Partner(SHUFFLER_URL, named, "", settings.SIGNING_KEY, transport)}


def shuffle_recipe(*, simulation: bool = True, transport: Any = reached, **changes: Any) -> Recipe:
    return recipe_publish_file(
        members=shuffle_members(**changes), actor=None, simulation=simulation, partners=partners(transport)
    )


def statistic_of(recipe: Recipe) -> ShuffleStatistic[Any]:
    return statistic_as(recipe.published, ShuffleStatistic)


def send(recipe: Recipe, messages: Sequence[int]) -> int:
    """One user's messages, encrypted; the status that the shuffler answers with."""
    key, source = recipe.published.public_key, secrets.SystemRandom()
    ciphertexts = [bytes(key.encrypt(message, source)) for message in messages]
    body = body_of({"nonce": secrets.token_bytes(16), "messages": ciphertexts})
    url = f"{SHUFFLER_URL}/recipes/{recipe.identifier}/messages"
    status, _, _ = reached("POST", url, {"Content-Type": "application/json"}, body)
    return status


def fill(recipe: Recipe, values: Sequence[int]) -> list[int]:
    """One honest user for each value, whom the shuffler accepts; how often each message was sent."""
    statistic = statistic_of(recipe)
    total = [0] * statistic.contribution_length
    for seed, value in enumerate(values):
        messages = statistic.randomize(value, random.Random(seed))
        assert send(recipe, messages) == 201
        for message in messages:
            total[message] += 1
    return total


def drive(*, now: datetime | None = None, transport: Any = reached) -> None:
    """What workers do with the batches that are due."""
    now = now or timezone.now()
    for pk in fetches_take(now=now).rows:
        row = BatchFetch.objects.select_related("recipe").get(pk=pk)
        fetch_drive(fetch=row, shuffler=shuffler_of(row.recipe, transport), now=now)


def settle(*, transport: Any = reached, ticks: int = 6, after: timedelta = timedelta()) -> None:
    """Periodic looks so far apart that every lease is over, with all the work that comes of them.

    Args:
        after: from now until the first one.
    """
    for tick in range(ticks):
        collections_advance()
        drive(now=timezone.now() + after + timedelta(minutes=6 * tick), transport=transport)
        for chunk in Chunk.objects.values_list("pk", flat=True):
            chunk_process(chunk=chunk)


def release_of(recipe: Recipe) -> Release:
    return Release.objects.get(recipe=recipe)
