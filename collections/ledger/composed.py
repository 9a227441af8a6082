"""The composed ε of many events, remembered.

Composing takes up to some tenths of a second, and pages ask for the same few numbers again and
again. A number is a function of the events, δ and the software alone, and is remembered under the
hash of these: nothing ever has to be invalidated. The cache is bounded and may forget at any time.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from django.core.cache import caches

from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.registry import event_from_mapping

CACHE = "composed"

SOFTWARE = ("panprivacy 0.1.0", "dp-accounting " + version("dp-accounting"))
"""What computes the numbers; another version's are not taken over."""

Event = Mapping[str, Any]
"""A privacy event as data: what `PrivacyEvent.as_dict` returns."""


def composed_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε at which all `events` together are (ε, δ)-private; 0.0 for none.

    Args:
        events: as stored; their order does not matter.
        delta: of all events together.

    Raises:
        FieldError: as of `event_from_mapping` and `epsilon_of`.
    """
    if not events:
        return 0.0
    # In one order, so that the same events have one hash and one (rounded) number.
    ordered = sorted(events, key=_canonical)
    content = json.dumps([SOFTWARE, delta, ordered], sort_keys=True)
    key = hashlib.sha256(content.encode()).hexdigest()
    known = caches[CACHE].get(key)
    if known is None:
        known = epsilon_of([event_from_mapping(event) for event in ordered], delta)
        caches[CACHE].set(key, known)
    return float(known)


def _canonical(event: Event) -> str:
    return json.dumps(event, sort_keys=True)
