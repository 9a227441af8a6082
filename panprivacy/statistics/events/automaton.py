"""A question about the order and the times of events, as a deterministic automaton.

The state is a one-hot vector of ciphertexts, one for each state of the automaton. A table δ sends state p to
state δ(p); the vector's image has at q the sum of all entries p with δ(p) = q. Only additions are needed, so
a device moves a state that it cannot read. LPP's counters are such automata: `count_nonzero` has two states.

Pan-privacy is LPP Theorem 10's argument (docs/regular-questions.md): each step leaves one fresh
ciphertext for each state, whatever happened.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from panprivacy.encryption.interface import Ciphertext, SchemeKey

Table = tuple[int, ...]
"""For each state, the state that follows."""

Vector = tuple[Ciphertext, ...]
"""One ciphertext for each state: of 1 for the current one, of 0 for all others."""


@dataclass(frozen=True)
class Automaton:
    """Tables over states 0, 1, …, Q − 1.

    In each step the tables of the names that happened are applied, in the order of the names; then
    `otherwise` if none happened; then the clock's, if there is one for this step.

    Attributes:
        start: the state before the first step.
        on: for each name, its table.
        at: for some steps, the table that is applied at their end, whatever happened.
        otherwise: applied in a step in which no name happened; None leaves the state unchanged.
    """

    start: int
    on: tuple[Table, ...]
    at: Mapping[int, Table] = field(default_factory=dict)
    otherwise: Table | None = None

    @property
    def states(self) -> int:
        """Q."""
        return len(self.on[0])

    def following(self, state: int, happened: int, step: int) -> int:
        """The state after one more step.

        Args:
            happened: bit i is 1 if the i-th name happened.
            step: 1 or more.
        """
        for position, table in enumerate(self.on):
            if happened >> position & 1:
                state = table[state]
        if self.otherwise is not None and not happened:
            state = self.otherwise[state]
        clock = self.at.get(step)
        return state if clock is None else clock[state]

    def last_state(self, events: Mapping[int, int], steps: int) -> int:
        """The state after `steps` steps.

        Args:
            events: step → what happened in it; steps without an event may be missing.
        """
        busy = range(1, steps + 1) if self.otherwise is not None else sorted({*events, *self.at})
        state = self.start
        for step in busy:
            if step <= steps:
                state = self.following(state, events.get(step, 0), step)
        return state

    def vector_of(self, public_key: SchemeKey, state: int, random_source: random.Random) -> Vector:
        """A fresh vector of this state, distributed as after any step that leads to it."""
        return tuple(public_key.encrypt(int(q == state), random_source) for q in range(self.states))

    def stepped(
        self, public_key: SchemeKey, vector: Vector, happened: int, step: int, random_source: random.Random
    ) -> Vector:
        """The vector after one more step: as `following`, on ciphertexts.

        The same operations in the same order, whatever happened: each table's image is computed, then either
        the image or the unchanged vector is kept.
        """
        zero = public_key.encrypt(0, random_source)
        for position, table in enumerate(self.on):
            image = _image(public_key, vector, table, zero)
            vector = image if happened >> position & 1 else vector
        if self.otherwise is not None:
            image = _image(public_key, vector, self.otherwise, zero)
            vector = vector if happened else image
        clock = self.at.get(step)
        if clock is not None:
            vector = _image(public_key, vector, clock, zero)
        return tuple(public_key.rerandomize(entry, random_source) for entry in vector)


def _image(public_key: SchemeKey, vector: Vector, table: Table, zero: Ciphertext) -> Vector:
    """The vector's image under a table: s'_q is the sum of all s_p with δ(p) = q."""
    return summed(public_key, vector, table, len(vector), zero)


def summed(
    public_key: SchemeKey, vector: Sequence[Ciphertext], places: Sequence[int], length: int, zero: Ciphertext
) -> Vector:
    """The entries of a vector, added up by place. Not rerandomized.

    Args:
        places: of each entry, from 0 to `length` − 1.
        zero: an encryption of 0, for places without an entry.
    """
    parts: list[list[Ciphertext]] = [[] for _ in range(length)]
    for entry, place in zip(vector, places, strict=True):
        parts[place].append(entry)
    return tuple(public_key.add(part) if part else zero for part in parts)
