"""Reads of streams without reading a state."""

import random
from dataclasses import dataclass

from django.db.models import QuerySet

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.streams.interface import StreamStatistic
from streams.models import AnnouncedIntrusion, SeenState, Stream


@dataclass(frozen=True)
class ArrayLayout:
    """One array of a state: its name, its kind of number as NumPy names it, and its shape."""

    name: str
    kind: str
    shape: tuple[int, ...]


def state_layout(published: PublishedRecipe) -> tuple[ArrayLayout, ...]:
    """The shapes of the arrays of such a recipe's state. It follows from the recipe, not from any stream."""
    thrown_away = random.Random()  # noqa: S311  # only the shape of what it draws is read
    state = statistic_as(published, StreamStatistic).start(thrown_away)
    return tuple(ArrayLayout(name, array.dtype.name, array.shape) for name, array in state.arrays.items())


def intrusions_of(identifier: str) -> QuerySet[AnnouncedIntrusion]:
    """The announced intrusions of a recipe, first to last; they stay when its stream is deleted."""
    return AnnouncedIntrusion.objects.filter(identifier=identifier)


def intrusions_left(published: PublishedRecipe) -> int:
    """How many more the recipe allows."""
    made = intrusions_of(published.identifier).count()
    allowed: int = published.calibrated_statistic.parameters.announced_intrusions
    return allowed - made


def seen_bytes(intrusion: AnnouncedIntrusion) -> bytes | None:
    """The state as it was seen, serialized; None if a crash lost it."""
    seen = SeenState.objects.filter(intrusion=intrusion).first()
    return None if seen is None else bytes(seen.state)


def is_stream(identifier: str) -> bool:
    """Whether there is such a stream; one that has ended is deleted."""
    return Stream.objects.filter(identifier=identifier).exists()


def stream_is_closed(identifier: str) -> bool:
    """Whether there is such a stream, and it takes no more items."""
    return Stream.objects.filter(identifier=identifier, is_open=False).exists()
