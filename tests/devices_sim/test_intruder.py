import math
import random
import secrets
from fractions import Fraction

import pytest

from devices_sim.state_file import Enrolment
from panprivacy.encryption.interface import Ciphertext
from tests.devices_sim.bench import (
    EVERY_SCHEME,
    STREAMS,
    Bench,
    StandardRandomizer,
    games_of_schemes,
    require_noticed,
)
from tests.devices_sim.intruder import (
    Advantage,
    ByteStatistics,
    EqualCiphertexts,
    EqualHalves,
    JacobiSymbols,
    KnownRandomness,
    ciphertexts_of,
    observed_device,
)
from tests.devices_sim.server import VERIFICATION_KEY


@pytest.mark.statistical
@pytest.mark.parametrize(("scheme", "games"), games_of_schemes(few=60, many=400, many_others=100))
def test_play_honest_device_no_attack_beats_a_fair_coin(make_server, scheme, games):
    """Every attack's exact interval covers 0; fails with probability at most 1e-6 in all (union bound)."""
    bench = Bench(make_server, scheme)
    advantages = bench.advantages(bench.honest, games=games)
    assert {attack.__name__: a for attack, a in advantages.items() if not a.covers_zero} == {}


@pytest.mark.statistical
@pytest.mark.parametrize("games", [60, pytest.param(200, marks=pytest.mark.long)])
def test_play_honest_histogram_no_attack_beats_a_fair_coin(make_server, games):
    """As above, where an event shifts a whole row of ciphertexts."""
    bench = Bench(make_server, "elgamal-secp256k1", "histogram")
    advantages = bench.advantages(bench.honest, games=games)
    assert {attack.__name__: a for attack, a in advantages.items() if not a.covers_zero} == {}


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_play_device_that_skips_rerandomization_is_caught(make_server, scheme):
    bench = Bench(make_server, scheme)

    def skip(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        return (
            bench.recipe.calibrated_statistic.step(bench.key, ciphertexts, event, number, source)
            if event
            else ciphertexts
        )

    advantages = bench.advantages(bench.device(skip), games=60, kinds=(EqualCiphertexts, EqualHalves))
    assert advantages[EqualCiphertexts].low > 0.5
    assert advantages[EqualHalves].low > 0.5


@pytest.mark.long  # in short with two servers: test_intruder_two_servers.py
@pytest.mark.statistical
@pytest.mark.parametrize("scheme", [scheme for scheme in EVERY_SCHEME if "elgamal" not in scheme])
def test_play_device_that_mixes_paillier_randomizers_is_caught(make_server, scheme):
    """An event encrypts with r^n, as phe does, and everything else with DJN's h_s^x.

    The intruder is right with probability 3/4: always without the event, half of the time with
    it. The probability that 400 games do not show it is computed first, and is below 1e-6.
    """
    bench = Bench(make_server, scheme)
    randomizer = StandardRandomizer(bench.recipe.public_key)

    def mix(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        if not event:
            return bench.recipe.calibrated_statistic.step(bench.key, ciphertexts, event, number, source)
        return (bench.key.rerandomize(randomizer.encrypt(1, source), source),)

    require_noticed(0.75, games=400)
    advantages = bench.advantages(bench.device(mix), games=400, kinds=(JacobiSymbols,))
    assert advantages[JacobiSymbols].low > 0


def test_play_device_with_a_known_seed_is_caught(make_server):
    bench = Bench(make_server, "elgamal-secp256k1")
    advantages = bench.advantages(bench.honest, games=60, source=lambda: random.Random(2))
    assert advantages[KnownRandomness].low > 0.5


def test_play_device_that_reuses_randomness_is_caught(make_server):
    """r stays, only the second half changes with the event: the first halves agree."""
    bench = Bench(make_server, "elgamal-secp256k1")

    def reuse(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        changed = bench.recipe.calibrated_statistic.step(bench.key, ciphertexts, event, number, source)
        if event:
            return changed
        before, after = bytes(ciphertexts[0]), bytes(changed[0])
        return (bench.key.parse(before[:33] + after[33:]),)

    advantages = bench.advantages(bench.device(reuse), games=60)
    assert advantages[EqualHalves].low > 0.5
    assert advantages[EqualCiphertexts].covers_zero


def test_play_device_whose_file_grows_with_events_is_caught(make_server):
    bench = Bench(make_server, "elgamal-secp256k1")

    def grow(
        ciphertexts: tuple[Ciphertext, ...], event: bool, number: int, source: random.Random
    ) -> tuple[Ciphertext, ...]:
        changed = bench.recipe.calibrated_statistic.step(bench.key, ciphertexts[:1], event, number, source)
        return (*changed, *changed) if event else changed

    # The intruder is right unless none of its 100 lessons showed the level of bytes, one of 8 with
    # probability 0.06 or more: wrong in 15% of the games needs several such levels, below 1e-9 together.
    found = bench.advantages(bench.device(grow), games=400, kinds=(ByteStatistics,))
    assert found[ByteStatistics].low > 0.5


def test_observed_device_snapshots_are_the_state_before_and_after_every_step(make_server):
    bench = Bench(make_server, "elgamal-secp256k1")
    snapshots = bench.honest(STREAMS[1], secrets.SystemRandom())
    assert len(snapshots) == 4
    assert len({ciphertexts_of(snapshot) for snapshot in snapshots}) == 4
    assert all(len(ciphertexts_of(snapshot)[0]) == 66 for snapshot in snapshots)


def test_observed_device_recipe_that_samples_is_refused(make_server):
    server = make_server(sampling_rate=1e-6)
    device = observed_device(Enrolment(server.served, VERIFICATION_KEY, ""))
    with pytest.raises(ValueError, match="sampling rate 1"):
        device(STREAMS[0], secrets.SystemRandom())


def test_jacobi_symbols_key_without_modulus_is_refused(make_server):
    with pytest.raises(ValueError, match="modulus"):
        JacobiSymbols.on(make_server().recipe.public_key)


@pytest.mark.parametrize("games", [1, 7, 20])
def test_advantage_limits_are_exact_against_the_definition(games):
    """Clopper–Pearson: under the limits, the outcome or a more extreme one has probability failure/2."""

    def at_least(correct: int, p: Fraction) -> float:
        return float(
            sum(math.comb(games, c) * p**c * (1 - p) ** (games - c) for c in range(correct, games + 1))
        )

    for correct in range(games + 1):
        advantage = Advantage.of(correct, games, 0.01)
        low, high = (Fraction((limit + 1) / 2) for limit in (advantage.low, advantage.high))
        assert low == 0 if correct == 0 else math.isclose(at_least(correct, low), 0.005, rel_tol=1e-6)
        assert (
            high == 1
            if correct == games
            else math.isclose(1 - at_least(correct + 1, high), 0.005, rel_tol=1e-6)
        )
        assert advantage.low <= advantage.estimate <= advantage.high
