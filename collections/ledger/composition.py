"""The composed ε of many events, and what they use of a budget, remembered.

Composing takes a tenth of a second for few events, and seconds if a process meets hundreds of different ones
for the first time; checks of a budget need the same few numbers again and again. A number is a function of
the events, δ and the software alone, and is remembered under the hash of these: nothing ever has to be
invalidated. The cache is bounded and may forget at any time.
"""

import hashlib
import json
import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.cache import caches

from ledger.budget import Budget, Rule
from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.number_cache import number_key
from panprivacy.accounting.privacy_filter import PrivacyFilter
from panprivacy.accounting.registry import event_from_mapping
from panprivacy.formats.errors import FieldError
from storage.connections import connection_release

CACHE = "composed"

Event = Mapping[str, Any]
"""A privacy event as data: what `PrivacyEvent.as_dict` returns."""


class UnreadableEventError(ValueError):
    """A stored event that this version cannot read, or add to the others: another version wrote it."""


class Composition:
    """Events that are composed, as a book adds them and takes them back.

    They are kept sorted. So the same events have one hash and one (rounded) number, in any order. Each is
    written out once: for its thousand lines, a book composes half a million events, and only a thousand
    differ.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._digested = sorted(_digested(event) for event in events)

    def add(self, event: Event) -> None:
        insort(self._digested, _digested(event))

    def remove(self, event: Event) -> None:
        """One of those that are equal to `event`; ValueError if there is none."""
        wanted = _digested(event)
        place = bisect_left(self._digested, wanted)
        if self._digested[place : place + 1] != [wanted]:
            raise ValueError("there is no such event")
        del self._digested[place]

    def copy(self) -> "Composition":
        """The present state."""
        copied = Composition()
        copied._digested = self._digested.copy()
        return copied

    def key(self, rule: "float | Budget") -> str:
        """The key under which a number for these events is remembered.

        Args:
            rule: δ, for the composed ε at it; or a budget, for what they use of it by its filter.
        """
        of = [rule.rule, rule.epsilon, rule.delta] if isinstance(rule, Budget) else rule
        content = number_key("composed", of).encode()
        return hashlib.sha256(b"\n".join([content, *(digest for digest, _ in self._digested)])).hexdigest()

    def read(self) -> list[PrivacyEvent]:
        """The events. Raises UnreadableEventError."""
        return [_read_text(text) for _, text in self._digested]

    def __bool__(self) -> bool:
        return bool(self._digested)


def composed_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε at which all `events` together are (ε, δ)-private; 0.0 for none.

    Args:
        events: as stored; their order does not matter.
        delta: of all events together.

    Returns:
        ε ≥ 0; infinite if none is promised at this δ: events that may fail altogether with a probability of
        their own add up to more than δ.

    Raises:
        UnreadableEventError: an event that this version does not know.
    """
    return composed_epsilon_of(Composition(events), delta)


def composed_epsilon_of(composition: Composition, delta: float) -> float:
    """`composed_epsilon` of events that were put together."""
    key = composition.key(delta)
    known = caches[CACHE].get(key) if composition else 0.0
    if known is None:
        connection_release()
        known = _epsilon(composition.read(), delta)
        caches[CACHE].set(key, known)
    return float(known)


@dataclass(frozen=True)
class Use:
    """What events use of a budget.

    Attributes:
        share: part of it, by its rule; more than 1 is too much.
        failing: whether what may fail altogether is too much already, whatever ε is.
    """

    share: float
    failing: bool

    @property
    def too_much(self) -> bool:
        """Whether the budget is exceeded."""
        return self.share > 1


def budget_use(events: Sequence[Event], budget: Budget) -> Use:
    """What all `events`, as stored, use of a budget; by composition, the composed ε as a part of its ε.

    Raises:
        UnreadableEventError: an event that this version does not know.
    """
    if budget.rule is Rule.COMPOSED:
        composed = composed_epsilon(events, budget.delta)
        return Use(composed / budget.epsilon, composed == math.inf)
    composition = Composition(events)
    key = composition.key(budget)
    known = caches[CACHE].get(key)
    if known is None:
        connection_release()
        known = PrivacyFilter(budget.epsilon, budget.delta).shares(composition.read())
        caches[CACHE].set(key, known)
    return Use(max(known), known[1] > 1)


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


def _digested(event: Event) -> tuple[bytes, str]:
    """An event as text, and the hash of that."""
    text = _canonical(event)
    return hashlib.sha256(text.encode()).digest(), text


@lru_cache(maxsize=4_096)  # a book composes the same events at every line
def _read_text(text: str) -> PrivacyEvent:
    return _read(json.loads(text))


def _canonical(event: Event) -> str:
    return json.dumps(event, sort_keys=True)
