"""A whole stream with items that are already available: publish, send them to the curator, release."""

import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from panprivacy.device.items import send_items
from panprivacy.device.transport import HttpTransport
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.streams.interface import StreamStatistic
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from results.models import Release
from results.operations import truth_record
from simulations.collect.collection import CollectionStalledError, reason_of
from simulations.installation.services import ServiceError, Services, wait_until
from simulations.simulation_ends import simulation_close, simulation_give_up

RELEASE_SECONDS = 60.0
"""For how long a result is waited for: all that is left to do is to read one state."""


@dataclass(frozen=True)
class StreamResult:
    """What became of a stream.

    Attributes:
        truth: the exact answer.
        seconds: from before publishing to the release.
    """

    recipe: Recipe
    release: Release
    truth: tuple[float, ...]
    seconds: float


def stream_run(
    *, members: Mapping[str, object], universe: Sequence[str], items: Sequence[str], services: Services
) -> StreamResult:
    """Publish a simulation recipe over a list of items, send items over HTTP, and wait for the release.

    Args:
        members: fields of a recipe file, with `items` as `listed`.
        universe: the list.
        items: those that come, in their order.
        services: running web server and workers.

    Raises:
        FieldError: nothing was published.
        ServiceError, CollectionStalledError: the recipe is closed; its result is released as soon as
            workers run.
        TransportError, and whatever interrupts: the recipe is closed, and its result withheld.
    """
    started = time.monotonic()
    recipe = recipe_publish_file(members=members, actor=None, simulation=True, universe=universe)
    try:
        with HttpTransport(services.base_url) as transport:
            send_items(items, str(recipe.identifier), transport, secrets.SystemRandom())
        truth = _truth(recipe, universe, items)
        # No devices take part: a curator gets items, and cannot know whose they are.
        truth_record(recipe=recipe, values=truth, devices=0, sampled=0)
        services.check()  # from here on, workers release by themselves
        simulation_close(recipe=recipe, actor=None)
        if not wait_until(lambda: _is_released(recipe, services), RELEASE_SECONDS):
            raise CollectionStalledError(f"the stream was not released within {RELEASE_SECONDS:.0f} seconds")
    except (ServiceError, CollectionStalledError):
        # Workers will release it.
        simulation_close(recipe=recipe, actor=None)
        raise
    except BaseException as error:
        # Not all items have come, or their result is not awaited.
        simulation_give_up(recipe=recipe, reason=reason_of(error), actor=None)
        raise
    release = Release.objects.get(recipe=recipe)
    return StreamResult(recipe, release, truth, time.monotonic() - started)


def _truth(recipe: Recipe, universe: Sequence[str], items: Sequence[str]) -> tuple[float, ...]:
    counts = Counter(items)
    places = {str(place): counts[item] for place, item in enumerate(universe) if item in counts}
    return statistic_as(recipe.published, StreamStatistic).truth(places)


def _is_released(recipe: Recipe, services: Services) -> bool:
    services.check()
    return Release.objects.filter(recipe=recipe).exists()
