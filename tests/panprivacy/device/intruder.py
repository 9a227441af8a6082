"""Attacks by an intruder who reads a device's whole state before and after every step.

The distinguishing game of computational local pan-privacy (LPP, Definition 2.10): two streams of
events are public, a fair coin chooses which of them a device lives through, and the intruder
guesses from the snapshots. Computational 0-pan-privacy says that no feasible intruder beats a
fair coin. A game cannot prove that; it shows that these attacks fail.
"""

import itertools
import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import gmpy2
from scipy.stats import beta

from panprivacy.device.algorithm import ClientAlgorithm, Phase
from panprivacy.device.state_file import FORMAT, Enrolment, encode
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats import base64_text

Snapshots = tuple[bytes, ...]
"""State files as bytes: before step 1, and after each of the T steps (which is before the next)."""

Events = tuple[bool, ...]
"""Whether each of the T steps has an event."""

ObservedDevice = Callable[[Events, random.Random], Snapshots]
"""Runs a device through a stream and returns what the intruder sees."""


def observed_device(enrolment: Enrolment, public_key: PublicKey | None = None) -> ObservedDevice:
    """The client algorithm as it stands, observed at every step.

    The recipe samples every device (rate 1): one that takes no part gives nothing away.
    """
    algorithm = ClientAlgorithm(enrolment.verified(), public_key)

    def run(events: Events, random_source: random.Random) -> Snapshots:
        state = algorithm.start(random_source)
        if state.phase is not Phase.COLLECTING:
            raise ValueError("the game needs a recipe with sampling rate 1")
        snapshots = [encode(enrolment, state)]
        for event in events:
            state = algorithm.step(state, event, random_source)
            snapshots.append(encode(enrolment, state))
        return tuple(snapshots)

    return run


def ciphertexts_of(snapshot: bytes) -> tuple[bytes, ...]:
    """The encoded ciphertexts of a state file, as anyone can read them."""
    return tuple(map(base64_text.decode, _members(snapshot)["ciphertexts"]))


def _members(snapshot: bytes) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(snapshot[len(FORMAT) :].partition(b"\n")[2])
    return members


class Attack(ABC):
    """A feature of the snapshots that might differ between the streams.

    The intruder knows the device's program and the public key, so it learns by running both
    streams itself how often each value of the feature goes with which stream, and then guesses
    the likelier stream.
    """

    @abstractmethod
    def feature(self, snapshots: Snapshots) -> Hashable:
        """Anything computed from the snapshots without the private key."""


class EqualPieces(Attack):
    """Which pieces of ciphertexts a step left as they were, or occur twice in one state.

    Where a ciphertext is made of several (a sharing: the leader's part and the helper's), this finds a part
    that was kept while the other changed, and randomness that was used for both. What must be new each time
    has `piece_bytes`: half a ciphertext, which is an ElGamal point.
    """

    def __init__(self, piece_bytes: int) -> None:
        self._piece_bytes = piece_bytes

    def feature(self, snapshots: Snapshots) -> Hashable:
        size = self._piece_bytes
        pieces = [
            [ciphertext[at : at + size] for at in range(0, len(ciphertext), size)]
            for snapshot in snapshots
            for ciphertext in [b"".join(ciphertexts_of(snapshot))]
        ]
        kept = tuple(len({*before} & {*after}) for before, after in itertools.pairwise(pieces))
        return kept, tuple(len(one) - len({*one}) for one in pieces)


class PlainMembers(Attack):
    """What the state files say beside ciphertexts, the nonce up to its value: which steps changed it."""

    def feature(self, snapshots: Snapshots) -> Hashable:
        seen = [_members(snapshot) for snapshot in snapshots]
        nonces = [members["nonce"] for members in seen]
        plain = tuple(
            json.dumps(
                {name: value for name, value in members.items() if name not in ("ciphertexts", "nonce")}
            )
            for members in seen
        )
        return plain, tuple(nonces.index(nonce) for nonce in nonces)


class KnownRandomness(Attack):
    """Runs the device itself with guessed seeds of a `random.Random`, which others can repeat."""

    def __init__(self, device: ObservedDevice, streams: tuple[Events, Events], seeds: Sequence[int]) -> None:
        self._known = {
            snapshot: (number, stream)
            for stream, events in enumerate(streams)
            for seed in seeds
            for number, snapshot in enumerate(device(events, random.Random(seed)))  # the attack
        }

    def feature(self, snapshots: Snapshots) -> Hashable:
        return tuple(self._known.get(snapshot) for snapshot in snapshots)


class JacobiSymbols(Attack):
    """Jacobi symbols of Paillier ciphertexts modulo n: randomizers of two kinds under one key.

    (1 + n)^m is 1 modulo n, so the symbol is the randomizer's, computable by all. A ciphertext has
    a part under the key of each modulus, in their order; the parts have one length.
    """

    def __init__(self, *moduli: int) -> None:
        self._moduli = moduli

    def feature(self, snapshots: Snapshots) -> Hashable:
        return tuple(
            gmpy2.jacobi(int.from_bytes(part, "big"), modulus)
            for snapshot in snapshots
            for ciphertext in ciphertexts_of(snapshot)
            for part, modulus in zip(self._parts(ciphertext), self._moduli, strict=True)
        )

    def _parts(self, ciphertext: bytes) -> list[bytes]:
        size = len(ciphertext) // len(self._moduli)
        return [ciphertext[at : at + size] for at in range(0, len(ciphertext), size)]


class ByteStatistics(Attack):
    """Length of the snapshots, and how large the bytes of the last ciphertexts are, coarsely."""

    LEVELS = 8

    def feature(self, snapshots: Snapshots) -> Hashable:
        content = b"".join(ciphertexts_of(snapshots[-1]))
        # The mean of m uniform bytes has standard deviation 73.9/√m; the levels cut ±1.5 of them evenly.
        deviations = (sum(content) / len(content) - 127.5) * len(content) ** 0.5 / 73.9
        level = min(max(int((deviations + 1.5) / 3 * self.LEVELS), 0), self.LEVELS - 1)
        return tuple(len(snapshot) for snapshot in snapshots), level


@dataclass(frozen=True)
class Advantage:
    """Exact (Clopper–Pearson) confidence limits of the advantage 2·Pr[right] − 1, which is 0 for a fair coin
    and ±1 for certainty."""

    low: float
    high: float

    @classmethod
    def of(cls, correct: int, games: int, failure_probability: float) -> "Advantage":
        """From counts; each limit is exceeded with probability at most `failure_probability`/2."""
        tail = failure_probability / 2
        low = 0.0 if correct == 0 else float(beta.ppf(tail, correct, games - correct + 1))
        high = 1.0 if correct == games else float(beta.isf(tail, correct + 1, games - correct))
        return cls(2 * low - 1, 2 * high - 1)

    @property
    def covers_zero(self) -> bool:
        """Whether guessing by a fair coin explains the outcome."""
        return self.low <= 0 <= self.high


def play(
    device: ObservedDevice,
    streams: tuple[Events, Events],
    attacks: Sequence[Attack],
    *,
    lessons: int,
    games: int,
    device_source: Callable[[], random.Random],
    challenger: random.Random,
    failure_probability: float,
) -> list[Advantage]:
    """Play the distinguishing game with every attack on the same snapshots; returns their advantages.

    Args:
        lessons: how often the intruder runs each stream to learn from.
        challenger: tosses the coins of the games and of undecided guesses.
        failure_probability: of each attack's confidence interval.
    """
    tallies: list[tuple[Counter[Hashable], Counter[Hashable]]] = [(Counter(), Counter()) for _ in attacks]
    for _ in range(lessons):
        for stream in (0, 1):
            snapshots = device(streams[stream], device_source())
            for attack, tally in zip(attacks, tallies, strict=True):
                tally[stream][attack.feature(snapshots)] += 1
    correct = [0] * len(attacks)
    for _ in range(games):
        chosen = challenger.getrandbits(1)
        snapshots = device(streams[chosen], device_source())
        for number, (attack, (first, second)) in enumerate(zip(attacks, tallies, strict=True)):
            feature = attack.feature(snapshots)
            if first[feature] == second[feature]:
                guess = challenger.getrandbits(1)
            else:
                guess = int(second[feature] > first[feature])
            correct[number] += guess == chosen
    return [Advantage.of(right, games, failure_probability) for right in correct]
