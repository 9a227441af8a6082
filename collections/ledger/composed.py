"""The composed ε of many events, remembered.

Composing takes a tenth of a second for few events, and seconds where a process meets hundreds of different
ones for the first time; pages ask for the same few numbers again and again. A number is a function of
the events, δ and the software alone, and is remembered under the hash of these: nothing ever has to
be invalidated. The cache is bounded and may forget at any time.
"""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import structlog
from django.core.cache import caches

from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.registry import event_from_mapping
from panprivacy.accounting.version import VERSION
from panprivacy.errors import FieldError

CACHE = "composed"

SOFTWARE = (f"numbers {VERSION}", *(f"{name} {version(name)}" for name in ("numpy", "scipy")))
"""What computes the numbers; another version's are not taken over."""

Event = Mapping[str, Any]
"""A privacy event as data: what `PrivacyEvent.as_dict` returns."""

logger = structlog.get_logger(__name__)


class UnreadableEventError(ValueError):
    """A stored event that this version cannot read, or add to the others: another version wrote it."""


def composed_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε at which all `events` together are (ε, δ)-private; 0.0 for none.

    Args:
        events: as stored; their order does not matter.
        delta: of all events together.

    Returns:
        ε ≥ 0; infinite where none is promised at this δ: events that may fail altogether with a
        probability of their own add up to more than δ.

    Raises:
        UnreadableEventError: an event that this version does not know.
    """
    key, ordered = _key(events, delta)
    known = caches[CACHE].get(key) if ordered else 0.0
    if known is None:
        known = _epsilon([_read(event) for event in ordered], delta)
        caches[CACHE].set(key, known)
    return float(known)


class Allowance:
    """How long a page may compute numbers that are not remembered. What is too late is unknown, this time.

    Every number that was computed is remembered, so whoever asks again gets further. A single number
    is not interrupted.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._unreadable_is_logged = False

    def composed_epsilon(self, events: Sequence[Event], delta: float) -> float | None:
        """As the function of this name, or None where time has run out or an event cannot be read."""
        if events and time.monotonic() > self._ends and caches[CACHE].get(_key(events, delta)[0]) is None:
            return None
        try:
            return composed_epsilon(events, delta)
        except UnreadableEventError as error:
            if not self._unreadable_is_logged:
                logger.error("stored_event_unreadable", reason=str(error))
            self._unreadable_is_logged = True
            return None


def all_readable(events: Sequence[Event]) -> bool:
    """Whether this version knows every one of these events."""
    try:
        for event in {_canonical(event): event for event in events}.values():
            _read(event)
    except UnreadableEventError:
        return False
    return True


def _read(event: Event) -> PrivacyEvent:
    try:
        read = event_from_mapping(event)
    except FieldError as error:
        raise UnreadableEventError(str(error)) from error
    if read.neighbours is not Relation.REPLACE:
        raise UnreadableEventError(f"relation: {read.kind} is for {read.neighbours.value}, not replacement")
    return read


def _epsilon(events: Sequence[PrivacyEvent], delta: float) -> float:
    try:
        return epsilon_of(events, delta)
    except FieldError as error:
        # δ itself was checked when the budget was set; so no ε is promised at it.
        if error.field != "delta":
            raise
        return math.inf


def _key(events: Sequence[Event], delta: float) -> tuple[str, list[Event]]:
    # In one order, so that the same events have one hash and one (rounded) number.
    ordered = sorted(events, key=_canonical)
    content = json.dumps([SOFTWARE, delta, ordered], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest(), ordered


def _canonical(event: Event) -> str:
    return json.dumps(event, sort_keys=True)
