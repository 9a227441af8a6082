"""The intruder on devices whose reports are divided between two servers: the same attacks, and some more.

It colludes with neither server (LPP section 5).
"""

import random

import pytest

from devices_sim.algorithm import NONCE_BYTES, ClientAlgorithm, DeviceState, Phase
from devices_sim.state_file import encode
from panprivacy.encryption import DEFAULT_SCHEME
from panprivacy.encryption.interface import Ciphertext
from panprivacy.two_server.part import VDAF
from panprivacy.two_server.shared_key import SharedCiphertext
from tests.devices_sim.bench import (
    STREAMS,
    StandardRandomizer,
    TwoServerBench,
    games_of_schemes,
    require_noticed,
)
from tests.devices_sim.intruder import (
    ByteStatistics,
    EqualCiphertexts,
    EqualHalves,
    EqualPieces,
    Events,
    JacobiSymbols,
    KnownRandomness,
    PlainMembers,
    Snapshots,
    ciphertexts_of,
)
from tests.panprivacy.encryption.schemes import ONE_PER_FILE


@pytest.mark.statistical
@pytest.mark.parametrize(("scheme", "games"), games_of_schemes(few=40, many=200, many_others=60))
def test_play_honest_device_no_attack_beats_a_fair_coin(scheme, games):
    """Every attack's exact interval covers 0; fails with probability at most 1e-6 in all (union bound).

    An attack that is always right is noticed in 40 games, as in those below that broken devices play.
    """
    bench = TwoServerBench(scheme)
    advantages = bench.advantages(bench.honest, games=games)
    assert {attack.__name__: a for attack, a in advantages.items() if not a.covers_zero} == {}


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("scheme", "games"),
    [(ONE_PER_FILE[0], 40), *(pytest.param(scheme, 100, marks=pytest.mark.long) for scheme in ONE_PER_FILE)],
)
def test_play_honest_histogram_no_attack_beats_a_fair_coin(scheme, games):
    """As above, where an event shifts a whole row of sharings."""
    bench = TwoServerBench(scheme, "histogram")
    advantages = bench.advantages(bench.honest, games=games)
    assert {attack.__name__: a for attack, a in advantages.items() if not a.covers_zero} == {}


@pytest.mark.parametrize(
    ("statistic", "scheme"),
    [
        ("count_nonzero", DEFAULT_SCHEME),
        pytest.param("histogram", DEFAULT_SCHEME, marks=pytest.mark.long),
        # In short with one server: test_intruder.py.
        pytest.param("count_nonzero", "paillier-2048", marks=pytest.mark.long),
        pytest.param("histogram", "paillier-2048", marks=pytest.mark.long),
    ],
)
def test_play_device_that_skips_rerandomization_is_caught(statistic, scheme):
    bench = TwoServerBench(scheme, statistic)

    def skip(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        if not event:
            return ciphertexts
        return bench.recipe.calibrated_statistic.step(bench.bound, ciphertexts, event, number, source)

    kinds = (EqualCiphertexts, EqualHalves, EqualPieces)
    advantages = bench.advantages(bench.device(skip), games=40, kinds=kinds)
    assert advantages[EqualCiphertexts].low > 0.3
    assert advantages[EqualHalves].low > 0.3
    assert advantages[EqualPieces].low > 0.3


@pytest.mark.parametrize("kept", ["leader", "helper"])
def test_play_device_that_renews_one_servers_part_only_is_caught(kept):
    """On an event it makes a fresh sharing, and forgets to store one of the two parts."""
    bench = TwoServerBench(DEFAULT_SCHEME)

    def forget(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        (before,) = ciphertexts
        (after,) = bench.recipe.calibrated_statistic.step(bench.bound, ciphertexts, event, number, source)
        parts = {"leader": after.leader, "helper": after.helper}
        return (SharedCiphertext(**(parts | {kept: getattr(before, kept)} if event else parts)),)

    advantages = bench.advantages(bench.device(forget), games=40, kinds=(EqualCiphertexts, EqualPieces))
    assert advantages[EqualPieces].low > 0.3
    # The whole ciphertext changes each time: only a look at its parts finds it.
    assert advantages[EqualCiphertexts].covers_zero


def test_play_device_that_encrypts_both_parts_with_the_same_randomness_is_caught():
    """On an event both servers' parts get the same r: their first halves are the same point r·G."""
    bench = TwoServerBench(DEFAULT_SCHEME)

    def reuse(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        if not event:
            return bench.recipe.calibrated_statistic.step(bench.bound, ciphertexts, event, number, source)
        context = bench.key.context + bench.NONCE
        shares = VDAF.shard(context, 1, bench.NONCE, source.randbytes(VDAF.rand_size))[1]
        seed = source.getrandbits(128)
        return (
            SharedCiphertext(
                *(
                    key.encrypt_bytes(share, random.Random(seed))
                    for key, share in zip((bench.key.leader, bench.key.helper), shares, strict=True)
                )
            ),
        )

    advantages = bench.advantages(bench.device(reuse), games=60)
    assert advantages[EqualPieces].low > 0.5
    assert advantages[EqualHalves].covers_zero


def test_play_device_that_draws_a_new_nonce_with_an_event_is_caught():
    """It binds the fresh sharing to a nonce of its own."""
    bench = TwoServerBench(DEFAULT_SCHEME)

    def run(events: Events, random_source: random.Random) -> Snapshots:
        algorithm = ClientAlgorithm(bench.recipe, bench.key)
        states = [algorithm.start(random_source)]
        for event in events:
            before = states[-1]
            if event:
                nonce = random_source.randbytes(NONCE_BYTES)
                before = DeviceState(
                    phase=Phase.COLLECTING, step=before.step, ciphertexts=before.ciphertexts, nonce=nonce
                )
            states.append(algorithm.step(before, event, random_source))
        return tuple(encode(bench.enrolment, state) for state in states)

    advantages = bench.advantages(run, games=60)
    assert advantages[PlainMembers].low > 0.5
    assert advantages[EqualPieces].covers_zero


@pytest.mark.statistical
@pytest.mark.parametrize("side", [0, pytest.param(1, marks=pytest.mark.long)])
def test_play_device_that_mixes_paillier_randomizers_in_one_part_is_caught(side):
    """An event encrypts one server's part with r^n, as phe does, and everything else with DJN's h_s^x.

    Half of phe's r have Jacobi symbol −1. As with one server the intruder is right with probability 3/4;
    here every r is such a one, so that it is always right and few games show for each part that it looks.
    """
    bench = TwoServerBench("paillier-2048")
    key = bench.keys[side]
    randomizer = StandardRandomizer(key, symbols=(-1,))

    def mix(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        (after,) = bench.recipe.calibrated_statistic.step(bench.bound, ciphertexts, event, number, source)
        if not event:
            return (after,)
        parts = [after.leader, after.helper]
        # Encryptions of 1: the Jacobi symbol does not depend on the share.
        parts[side] = [key.rerandomize(randomizer.encrypt(1, source), source)]
        return (SharedCiphertext(*parts),)

    require_noticed(1.0, games=30)
    advantages = bench.advantages(bench.device(mix), games=30, kinds=(JacobiSymbols,))
    assert advantages[JacobiSymbols].low > 0


def test_play_device_with_a_known_seed_is_caught():
    bench = TwoServerBench(DEFAULT_SCHEME)
    advantages = bench.advantages(bench.honest, games=60, source=lambda: random.Random(2))
    assert advantages[KnownRandomness].low > 0.5


@pytest.mark.long  # in short with one server: test_intruder.py
def test_play_device_whose_file_grows_with_events_is_caught():
    bench = TwoServerBench(DEFAULT_SCHEME)

    def grow(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        changed = bench.recipe.calibrated_statistic.step(bench.bound, ciphertexts[:1], event, number, source)
        return (*changed, *changed) if event else changed

    # As with one server: wrong in 15% of the games needs several levels of bytes that no lesson showed.
    found = bench.advantages(bench.device(grow), games=400, kinds=(ByteStatistics,))
    assert found[ByteStatistics].low > 0.5


@pytest.mark.parametrize("scheme", ONE_PER_FILE)
def test_observed_device_state_has_the_nonce_before_the_first_step_and_keeps_it(scheme):
    bench = TwoServerBench(scheme)
    snapshots = bench.honest(STREAMS[1], random.SystemRandom())
    assert len({ciphertexts_of(snapshot) for snapshot in snapshots}) == 4
    (plain, nonces) = PlainMembers().feature(snapshots)
    assert nonces == (0, 0, 0, 0)
    assert [text.count('"collecting"') for text in plain] == [1] * 4
