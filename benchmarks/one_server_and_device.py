"""What every state of a device and one server's secrets show of its events: two_server and joint_key.

Run from the repository's root: `python -m benchmarks.one_server_and_device [--steps N] [--lessons N]`. No
process starts and no database is used. An intruder has the state before and after each step, and everything
that the leader has, also what it should have forgotten. A fair coin decides whether a step has an event; the
intruder guesses. A device whose bit is 1 is followed by another one, so that each event changes the bit. The
intruder first learns from steps of its own: which values of an attack's score go with an event.

It prints each attack's advantage, 2·Pr[right] − 1, with exact limits (Clopper and Pearson) at 99%, for both
trust models, and then what copies of a state give to an intruder who has tokens. Exits with 1 if under
`joint_key` limits leave out 0 or ±0.05, or if no attack has an advantage above 0.95 under `two_server`.

What it can show: that these attacks work or do not, each in a program that finds what it looks for if it is
there (`tests/attacks/test_one_server_and_device.py` runs them on weakened keys). What it cannot show: that no
attack works. That is a proof's part, and an assumption's (SXDH on BLS12-381). Of 1 in 100 attacks that only
guess, the limits leave out 0. If a score is the same in all steps, the guess is, too.
"""

import argparse
import math
import random
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.parameters import Parameters
from panprivacy.protocols.encrypted_shares.configuration import VDAF
from panprivacy.protocols.encrypted_shares.shared_key import NONCE_BYTES, SharedCiphertext, SharedKey
from panprivacy.protocols.joint_key import keys
from panprivacy.protocols.joint_key.groups import (
    G1,
    G2,
    GROUP_ORDER,
    GT,
    G1Point,
    G2Point,
    Pair1,
    Pair2,
    Scalar,
    draw_scalar,
    plus_1,
    plus_2,
    times_1,
    times_2,
)
from panprivacy.protocols.joint_key.proven_bits import ProvenBit
from panprivacy.protocols.joint_key.public_key import JointPublicKey
from panprivacy.protocols.prio3.reference_verifier import LEADER
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.randomized_response import RandomizedResponse

MOST, LEAST = 0.05, 0.95
CONFIDENCE = 0.99
RIDGE = 100.0

Numbers = NDArray[np.float64]
Score = Callable[[Any, Any], float]
"""Of the states before and after a step, read from their bytes: any number that may go with an event."""


# The game ------------------------------------------------------------------------


class Scene(ABC):
    """A trust model with its keys, and an intruder's attacks.

    Attributes:
        attacks: name → score.
    """

    attacks: Mapping[str, Score]

    @abstractmethod
    def device_key(self, source: random.Random) -> PublicKey:
        """The key of a device that begins."""


@dataclass(frozen=True)
class Seen:
    """What an intruder makes of some steps.

    Attributes:
        scores: name of the attack → a score for each step.
        content: the bytes of both states of each step, a row for each.
        events: whether the step had one.
    """

    scores: Mapping[str, Numbers]
    content: Numbers
    events: NDArray[np.bool_]


def observed(scene: Scene, steps: int, source: random.Random, challenger: random.Random) -> Seen:
    """Run devices step by step.

    Args:
        source: the devices'.
        challenger: tosses the coin of each step.
    """
    mechanism = CountNonzero(Parameters(steps=1, epsilon=1.0, delta=1e-6, cohort_size=100))
    scores: dict[str, list[float]] = {name: [] for name in scene.attacks}
    content, events = [], []
    state: tuple[Ciphertext, ...] | None = None
    key = scene.device_key(source)
    for _ in range(steps):
        if state is None:
            key = scene.device_key(source)
            state = mechanism.start(key, source)
        (before,) = state
        event = challenger.getrandbits(1)
        state = mechanism.step(key, state, event, 1, source)
        (after,) = state
        for name, score in scene.attacks.items():
            scores[name].append(score(before, after))
        content.append(np.frombuffer(bytes(before) + bytes(after), np.uint8))
        events.append(bool(event))
        # A second event would leave the bit as it is.
        state = None if event else state
    return Seen(
        {name: np.array(values) for name, values in scores.items()},
        np.array(content) / 127.5 - 1,
        np.array(events),
    )


def guesses(lessons: Seen, seen: Seen) -> dict[str, NDArray[np.bool_]]:
    """What the intruder says of each step, by attack."""
    made = {
        name: _by_threshold(lessons.scores[name], lessons.events, scores)
        for name, scores in seen.scores.items()
    }
    return made | {"bytes of both states, learned": _by_bytes(lessons, seen)}


def _by_threshold(known: Numbers, events: NDArray[np.bool_], scores: Numbers) -> NDArray[np.bool_]:
    """By the best rule of the lessons: an event above a threshold, or up to it."""
    cuts = np.concatenate([[-np.inf], np.unique(known)])
    with_event, without = np.sort(known[events]), np.sort(known[~events])
    right = (
        len(with_event) - np.searchsorted(with_event, cuts, "right") + np.searchsorted(without, cuts, "right")
    )
    best = int(np.argmax(np.abs(2 * right - len(known))))
    above = scores > cuts[best]
    return np.asarray(above if 2 * right[best] >= len(known) else ~above)


def _by_bytes(lessons: Seen, seen: Seen) -> NDArray[np.bool_]:
    """By a linear rule, fitted by least squares with a ridge."""
    rows = lessons.content
    signs = 2.0 * lessons.events - 1.0
    weights = rows.T @ np.linalg.solve(rows @ rows.T + RIDGE * np.eye(len(rows)), signs)
    return np.asarray(seen.content @ weights > 0)


@dataclass(frozen=True)
class Advantage:
    """2·Pr[right] − 1, with exact limits."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, right: int, steps: int, failure_probability: float) -> "Advantage":
        """Each limit is exceeded with probability at most `failure_probability`/2."""
        tail = failure_probability / 2
        low = 0.0 if right == 0 else float(beta.ppf(tail, right, steps - right + 1))
        high = 1.0 if right == steps else float(beta.isf(tail, right + 1, steps - right))
        return cls(2 * right / steps - 1, 2 * low - 1, 2 * high - 1)

    def __str__(self) -> str:
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def advantages(
    scene: Scene,
    steps: int,
    *,
    lessons: int,
    failure_probability: float,
    source: random.Random,
    challenger: random.Random,
) -> dict[str, Advantage]:
    """Of each attack, on the same steps."""
    learned = observed(scene, lessons, source, challenger)
    seen = observed(scene, steps, source, challenger)
    return {
        name: Advantage.of(int(np.sum(guess == seen.events)), steps, failure_probability)
        for name, guess in guesses(learned, seen).items()
    }


def equal_pieces(before: Ciphertext, after: Ciphertext, size: int) -> float:
    """How many pieces of this size a step left as they were."""
    pieces = [
        {encoded[at : at + size] for at in range(0, len(encoded), size)}
        for encoded in (bytes(before), bytes(after))
    ]
    return len(pieces[0] & pieces[1])


# two_server ----------------------------------------------------------------------


class TwoServerScene(Scene):
    """The leader's private key is the intruder's."""

    def __init__(self, source: random.Random) -> None:
        self._leader, helper = (generate_private_key(DEFAULT_SCHEME, source) for _ in range(2))
        self._key = SharedKey(self._leader.public_key, helper.public_key, b"dap-18" + bytes(32))
        self.attacks = {
            "equal pieces": lambda before, after: equal_pieces(before, after, 33),
            "own half decrypted": self.own_share_changed,
        }

    def device_key(self, source: random.Random) -> PublicKey:
        return self._key.bound_to(source.randbytes(NONCE_BYTES))

    def own_share_changed(self, before: SharedCiphertext, after: SharedCiphertext) -> float:
        """The share in the leader's part stays unless there is an event."""
        return float(self._share(before) != self._share(after))

    def _share(self, state: SharedCiphertext) -> bytes:
        return self._leader.decrypt_bytes(state.leader, VDAF.input_share_bytes(LEADER))


# joint_key -----------------------------------------------------------------------


class JointKeyScene(Scene):
    """The leader's secrets are the intruder's: of both keys, and of both strings.

    Args:
        both_servers: the helper's secret is, too.
        one_secret: each server has the same secret in both groups.
    """

    def __init__(
        self, source: random.Random, *, both_servers: bool = False, one_secret: bool = False
    ) -> None:
        k, k2, t, t2 = ([draw_scalar(source) for _ in range(2)] for _ in range(4))
        if one_secret:
            k2 = k
        u1: Pair1 = (G1, G1 * (k[0] + k[1]))
        v1: Pair2 = (G2, G2 * (k2[0] + k2[1]))
        u = plus_1(times_1(u1, t[0] + t[1]), (G1Point.identity(), G1))
        v = plus_2(times_2(v1, t2[0] + t2[1]), (G2Point.identity(), G2))
        self.joint = keys.JointKey(u1, u, v1, v)
        self._key = JointPublicKey(self.joint)
        # What the intruder takes off: its own half, or all of the secret.
        self._k: Scalar = k[0] + k[1] if both_servers else k[0]
        self._k2: Scalar = k2[0]
        known = {"0": G1Point.identity(), "g": G1, "u": u[1] + -(u[0] * self._k), "t": G1 * t[0]}
        points = [*known.values(), *(-point for point in known.values())]
        sums = [*points, *(one + other for one in points for other in points)]
        self._known = {bytes(point.to_compressed_bytes()): at for at, point in enumerate(sums, start=1)}
        self.attacks = {
            "equal pieces": lambda before, after: equal_pieces(before, after, 48),
            "own half decrypted": self.own_half,
            "pairings of the difference": self.pairings_of_difference,
            "one state's proof for another's ciphertext": self.crossed,
            "validity of altered copies": self.altered,
        }

    def device_key(self, source: random.Random) -> PublicKey:  # noqa: ARG002  # all devices have one
        return self._key

    def own_half(self, before: ProvenBit, after: ProvenBit) -> float:
        """Which known point the difference of both states is, once the own half is decrypted."""
        difference = self._without_half(_difference(before, after).c)[1]
        return float(self._known.get(bytes(difference.to_compressed_bytes()), 0))

    def pairings_of_difference(self, before: ProvenBit, after: ProvenBit) -> float:
        """How many relations hold between the differences of c and of d and the public points: each is a
        Diffie–Hellman relation in one group, with the other group's public points in the place of its own."""
        changed = _difference(before, after)
        c, d = changed.c, changed.d
        u1, v1 = self._without_half(self.joint.u1), self._without_half_2(self.joint.v1)
        pairs = [
            (c, self.joint.v1),
            (c, self.joint.v),
            (self._without_half(c), v1),
            (self.joint.u1, d),
            (self.joint.u, d),
            (u1, self._without_half_2(d)),
            (c, d),
        ]
        return sum(GT.pairing_check([one[0], -one[1]], [other[1], other[0]]) for one, other in pairs)

    def crossed(self, before: ProvenBit, after: ProvenBit) -> float:
        """In how many directions the proof that x = y holds for c of one state and d of the other."""
        return sum(
            self._second_holds(one.c, other.d, one.pi[1], other.theta[1])
            for one, other in ((before, after), (after, before))
        )

    def altered(self, before: ProvenBit, after: ProvenBit) -> float:
        """How many equations hold of the difference of both states, a doubled copy, and a complement."""
        opposite = _each(after, lambda point: -point)
        complement = ProvenBit(
            plus_1(self.joint.u, opposite.c),
            plus_2(self.joint.v, opposite.d),
            (plus_2(after.pi[0], after.pi[1]), opposite.pi[1]),
            (plus_1(after.theta[0], after.theta[1]), opposite.theta[1]),
        )
        altered = (_difference(before, after), _each(after, lambda point: point + point), complement)
        return sum(
            self._first_holds(each) + self._second_holds(each.c, each.d, each.pi[1], each.theta[1])
            for each in altered
        )

    def _first_holds(self, bit: ProvenBit) -> bool:
        """x·(y − 1) = 0, in the first entry of F."""
        left = [bit.c[0], -G1, -bit.theta[0][0]]
        return bool(GT.pairing_check(left, [bit.d[0] + -self.joint.v[0], bit.pi[0][0], G2]))

    def _second_holds(self, c: Pair1, d: Pair2, pi: Pair2, theta: Pair1) -> bool:
        """x − y = 0, in the first entry of F."""
        left = [c[0], -self.joint.u[0], -G1, -theta[0]]
        return bool(GT.pairing_check(left, [self.joint.v[0], d[0], pi[0], G2]))

    def _without_half(self, pair: Pair1) -> Pair1:
        return pair[0], pair[1] + -(pair[0] * self._k)

    def _without_half_2(self, pair: Pair2) -> Pair2:
        return pair[0], pair[1] + -(pair[0] * self._k2)


def _each(bit: ProvenBit, change: Callable[[Any], Any]) -> ProvenBit:
    """The same change to each point."""
    c, d, *proofs = ((change(first), change(second)) for first, second in (bit.c, bit.d, *bit.pi, *bit.theta))
    return ProvenBit(c, d, (proofs[0], proofs[1]), (proofs[2], proofs[3]))


def _difference(before: ProvenBit, after: ProvenBit) -> ProvenBit:
    """after − before, in each point."""
    old = _each(before, lambda point: -point)
    return ProvenBit(
        plus_1(after.c, old.c),
        plus_2(after.d, old.d),
        (plus_2(after.pi[0], old.pi[0]), plus_2(after.pi[1], old.pi[1])),
        (plus_1(after.theta[0], old.theta[0]), plus_1(after.theta[1], old.theta[1])),
    )


class Unblinded(random.Random):
    """A weak source for states: their proofs are not blinded. Of four scalars, the last two are 0."""

    def __init__(self, source: random.Random) -> None:
        super().__init__()
        self._source, self._drawn = source, 0

    def getrandbits(self, k: int, /) -> int:  # noqa: ARG002  # scalars are all that is drawn
        self._drawn += 1
        return self._source.randrange(GROUP_ORDER) if self._drawn % 4 in (1, 2) else 0


# Copies --------------------------------------------------------------------------


def copies_advantage(epsilon: float, reports: int, copies: int) -> float:
    """2·Pr[right] − 1 of the best guess of a state's bit from the count, exactly.

    The intruder sends copies of the state, each with a token of its own, into a cohort of honest reports of
    devices without an event. The coins' sum is binomial, and moves by `copies` if the bit is 1: the advantage
    is the distance in total variation. Complements move it as far the other way.
    """
    coins = binom.pmf(np.arange(reports + 1), reports, RandomizedResponse(epsilon).flip_probability)
    difference = np.zeros(reports + copies + 1)
    difference[copies:] = coins
    difference[: reports + 1] -= coins
    return float(np.abs(difference).sum() / 2)


def copies_simulated(epsilon: float, reports: int, copies: int, games: int, source: random.Random) -> int:
    """In how many games the likelier bit is the right one; the library's coin is tossed for each report."""
    response = RandomizedResponse(epsilon)
    # Of −copies to reports + copies ones among the honest reports.
    likelihood = binom.logpmf(np.arange(-copies, reports + copies + 1), reports, response.flip_probability)
    right = 0
    for _ in range(games):
        bit = source.getrandbits(1)
        count = sum(response.respond_one_hot(reports, None, source)) + copies * bit
        without, with_bit = likelihood[count + copies], likelihood[count]
        right += bit == (source.getrandbits(1) if with_bit == without else int(with_bit > without))
    return right


def bound(epsilon: float, reports: int, copies: int) -> float:
    """docs/joint-key.md, "What copies give": 0.47·m/σ."""
    return min(1.0, 0.4688 * copies * 2 * math.cosh(epsilon / 2) / math.sqrt(reports))


COPIES = tuple(
    (epsilon, reports, copies)
    for epsilon, reports in ((0.1, 10_000), (1.0, 10_000), (2.0, 1_000), (1.0, 100))
    for copies in (1, 10, 50)
)


def print_copies(rows: Sequence[tuple[float, int, int]], games: int) -> None:
    source = random.Random(38)
    print(f"\n{'ε':>5}{'reports':>9}{'copies':>8}{'advantage':>11}{'bound':>8}   simulated, {games:,} games")
    for epsilon, reports, copies in rows:
        exact = copies_advantage(epsilon, reports, copies)
        right = copies_simulated(epsilon, reports, copies, games, source)
        simulated = Advantage.of(right, games, 1 - CONFIDENCE)
        most = bound(epsilon, reports, copies)
        print(f"{epsilon:>5}{reports:>9,}{copies:>8}{exact:>11.3f}{most:>8.3f}   {simulated}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--lessons", type=int, default=2_000)
    arguments = parser.parse_args()
    source = secrets.SystemRandom()
    found = {
        name: advantages(
            scene(source),
            arguments.steps,
            lessons=arguments.lessons,
            failure_probability=1 - CONFIDENCE,
            source=source,
            challenger=source,
        )
        for name, scene in (("two_server", TwoServerScene), ("joint_key", JointKeyScene))
    }
    print(f"{arguments.steps:,} steps, a fair coin for each; the leader's secrets and every state\n")
    print(f"{'attack':44}{'two_server':>28}{'joint_key':>28}")
    for attack in found["joint_key"] | found["two_server"]:
        print(f"{attack:44}" + "".join(f"{found[name].get(attack, '–')!s:>28}" for name in found))
    print_copies(COPIES, 1_000)
    joint = found["joint_key"].values()
    met = all(each.low <= 0 <= each.high and each.low >= -MOST and each.high <= MOST for each in joint)
    read = any(each.low > LEAST for each in found["two_server"].values())
    return int(not (met and read))


if __name__ == "__main__":
    sys.exit(main())
