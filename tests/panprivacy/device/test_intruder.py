"""The distinguishing game on honest devices. The intruder colludes with neither of two servers.

Every attack's exact interval covers 0; a play fails with probability at most FAILURE (union bound).
"""

import secrets

import pytest

from panprivacy.device.state_file import Enrolment
from tests.panprivacy.device.intruder import (
    ByteStatistics,
    EqualPieces,
    JacobiSymbols,
    KnownRandomness,
    PlainMembers,
    observed_device,
    play,
)
from tests.panprivacy.device.server import VERIFICATION_KEY
from tests.panprivacy.device.two_servers import two_server_enrolment
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.encryption.tables import with_tables

STREAMS = ((False, False, False), (False, True, False))
FAILURE = 1e-6
HISTOGRAM = {"statistic": "histogram", "k": 2}
"""There an event shifts a whole row of ciphertexts."""
FUNNEL = {"statistic": "funnel", "events": ["search", "buy"]}
"""There events move a ciphertext, and leave a new zero in its place."""
COUNT, HISTOGRAMS = ([(scheme, members) for scheme in ONE_PER_FILE] for members in ({}, HISTOGRAM))


def require_no_advantage(enrolment, recipe, keys, games):
    """`keys` are those under which a ciphertext has parts."""
    device = observed_device(enrolment, with_tables(recipe.public_key))
    attacks = [
        EqualPieces(keys[0].ciphertext_bytes // 2),
        PlainMembers(),
        KnownRandomness(device, STREAMS, range(3)),
        ByteStatistics(),
    ]
    moduli = [int(key.to_json()["n"], 16) for key in keys if "n" in key.to_json()]
    attacks += [JacobiSymbols(*moduli)] if moduli else []
    outcomes = play(
        device,
        STREAMS,
        attacks,
        lessons=games // 4,
        games=games,
        device_source=secrets.SystemRandom,
        challenger=secrets.SystemRandom(),
        failure_probability=FAILURE / len(attacks),
    )
    found = dict(zip((type(attack).__name__ for attack in attacks), outcomes, strict=True))
    assert {name: advantage for name, advantage in found.items() if not advantage.covers_zero} == {}


@pytest.mark.statistical
@pytest.mark.parametrize(("scheme", "members"), [*COUNT[:1], *HISTOGRAMS, (ONE_PER_FILE[0], FUNNEL)])
@pytest.mark.parametrize("games", [40, pytest.param(200, marks=pytest.mark.long)])
def test_play_honest_device_no_attack_beats_a_fair_coin(make_server, scheme, games, members):
    server = make_server(encryption=scheme, steps=3, **members)
    enrolment = Enrolment(server.served, VERIFICATION_KEY, "")
    require_no_advantage(enrolment, server.recipe, [server.recipe.public_key], games)


@pytest.mark.statistical
@pytest.mark.parametrize(("scheme", "members"), COUNT + HISTOGRAMS[:1])
def test_play_device_of_two_servers_no_attack_beats_a_fair_coin(scheme, members):
    recipe, enrolment = two_server_enrolment(encryption=scheme, steps=3, **members)
    keys = [recipe.public_key.leader, recipe.public_key.helper]
    require_no_advantage(enrolment, recipe, keys, games=40)
