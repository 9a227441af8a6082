"""A table to play the intruder's game on: a recipe, its keys with tables, and the attacks that fit."""

import secrets
from collections.abc import Callable, Collection, Sequence
from random import Random

import gmpy2
import pytest
from _pytest.mark import ParameterSet
from scipy.stats import binom

from devices_sim.algorithm import NONCE_BYTES, DeviceState, Phase
from devices_sim.state_file import Enrolment, encode
from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.recipe import PublishedRecipe
from tests.devices_sim.conftest import MakeServer
from tests.devices_sim.intruder import (
    Advantage,
    Attack,
    ByteStatistics,
    EqualCiphertexts,
    EqualHalves,
    EqualPieces,
    Events,
    JacobiSymbols,
    KnownRandomness,
    ObservedDevice,
    PlainMembers,
    Snapshots,
    observed_device,
    play,
)
from tests.devices_sim.server import VERIFICATION_KEY
from tests.devices_sim.two_servers import two_server_enrolment
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.encryption.tables import with_tables

STREAMS: tuple[Events, Events] = ((False, False, False), (False, True, False))
EVERY_SCHEME = [scheme for scheme in SCHEMES if scheme != "paillier-3072"]
"""That with 3,072 bits is the code of 2,048 with longer numbers: its own tests say that it is sound."""

FAILURE = 1e-6
"""Probability with which one play may fail, all its attacks together."""

Step = Callable[[tuple[Ciphertext, ...], bool, int, Random], tuple[Ciphertext, ...]]
"""A step of a device's own making: ciphertexts before it, event, number, source -> ciphertexts after it."""


class Bench:
    """One server that decrypts every report."""

    def __init__(self, make_server: MakeServer, scheme: str, statistic: str = "count_nonzero") -> None:
        server = make_server(**_members(scheme, statistic))
        self._prepare(server.recipe, Enrolment(server.served, VERIFICATION_KEY, ""))

    def _prepare(self, recipe: PublishedRecipe, enrolment: Enrolment) -> None:
        self.recipe = recipe
        self.enrolment = enrolment
        self.key = with_tables(recipe.public_key)
        self.honest = observed_device(enrolment, self.key)

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        """Those under which a ciphertext has parts."""
        return (self.recipe.public_key,)

    def attacks(self, device: ObservedDevice) -> list[Attack]:
        attacks = [
            EqualCiphertexts(),
            EqualHalves(),
            EqualPieces(self.keys[0].ciphertext_bytes // 2),
            PlainMembers(),
            KnownRandomness(device, STREAMS, range(3)),
            ByteStatistics(),
        ]
        if "n" in self.keys[0].to_json():
            attacks.append(JacobiSymbols.on(*self.keys))
        return attacks

    def device(self, step: Step) -> ObservedDevice:
        """A device that starts honestly and then takes steps of its own making."""

        def run(events: Events, random_source: Random) -> Snapshots:
            nonce = random_source.randbytes(NONCE_BYTES) if self.key.binds_nonce else b""
            ciphertexts = self.recipe.calibrated_statistic.start(self.key.bound_to(nonce), random_source)
            states = [DeviceState(phase=Phase.COLLECTING, ciphertexts=ciphertexts, nonce=nonce)]
            for number, event in enumerate(events, 1):
                ciphertexts = step(ciphertexts, event, number, random_source)
                states.append(
                    DeviceState(phase=Phase.COLLECTING, step=number, ciphertexts=ciphertexts, nonce=nonce)
                )
            return tuple(encode(self.enrolment, state) for state in states)

        return run

    def advantages(
        self,
        device: ObservedDevice,
        *,
        games: int,
        source: Callable[[], Random] = secrets.SystemRandom,
        kinds: Collection[type[Attack]] | None = None,
    ) -> dict[type[Attack], Advantage]:
        """What every attack gains, or only those of these kinds."""
        attacks = [attack for attack in self.attacks(device) if kinds is None or type(attack) in kinds]
        outcomes = play(
            device,
            STREAMS,
            attacks,
            lessons=games // 4,
            games=games,
            device_source=source,
            challenger=secrets.SystemRandom(),
            failure_probability=FAILURE / len(attacks),
        )
        return dict(zip(map(type, attacks), outcomes, strict=True))


class TwoServerBench(Bench):
    """Two servers that hold a share each. Step functions get a key that is bound to `NONCE`.

    Nothing is decrypted in a game, so their nonce need not be the state's.
    """

    NONCE = bytes(range(NONCE_BYTES))

    def __init__(self, scheme: str, statistic: str = "count_nonzero") -> None:
        self._prepare(*two_server_enrolment(**_members(scheme, statistic)))
        self.bound = self.key.bound_to(self.NONCE)

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        return (self.recipe.public_key.leader, self.recipe.public_key.helper)


def games_of_schemes(*, few: int, many: int, many_others: int) -> list[ParameterSet]:
    """(scheme, games): few of one scheme of each file; `many` of the default and `many_others` take long."""
    sizes = [(scheme, many if scheme == DEFAULT_SCHEME else many_others) for scheme in EVERY_SCHEME]
    return [
        *(pytest.param(scheme, few) for scheme in ONE_PER_FILE),
        *(pytest.param(*size, marks=pytest.mark.long) for size in sizes),
    ]


def _members(scheme: str, statistic: str) -> dict[str, object]:
    members = {"encryption": scheme, "statistic": statistic, "steps": len(STREAMS[0])}
    return members | ({"k": 2} if statistic == "histogram" else {})


class StandardRandomizer:
    """Encrypts under a Paillier key with r^n, as phe does, in place of DJN's h_s^x."""

    def __init__(self, key: PublicKey, symbols: Sequence[int] = (1, -1)) -> None:
        """`symbols`: Jacobi symbols of r, of which each encryption draws one; phe's are fair."""
        self._key = key
        self._n = n = gmpy2.mpz(int(key.to_json()["n"], 16))
        # r^n takes long to compute: one r with each Jacobi symbol will do.
        roots = [next(r for r in range(2, 1_000) if gmpy2.jacobi(r, n) == symbol) for symbol in symbols]
        self._randomizers = [gmpy2.powmod(root, n, n * n) for root in roots]

    def encrypt(self, message: int, source: Random) -> Ciphertext:
        """To be rerandomized: it shows which of the two it is."""
        randomizer = source.choice(self._randomizers)
        encoded = int((1 + message * self._n) * randomizer % self._n**2)
        return self._key.parse(encoded.to_bytes(self._key.ciphertext_bytes, "big"))


def require_noticed(probability: float, *, games: int) -> None:
    """AssertionError unless an attack that is right with `probability` is seen to be, but for 1e-6."""
    attacks = 7  # of a Paillier bench, which has the most
    enough = next(c for c in range(games) if Advantage.of(c, games, FAILURE / attacks).low > 0)
    assert binom.cdf(enough - 1, games, probability) < 1e-6
