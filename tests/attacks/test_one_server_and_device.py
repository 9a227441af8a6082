"""An intruder has every state of a device and all that one server has, and guesses which steps had an event.

Under `two_server` the server's key opens its share in consecutive states, which changes with an event only:
this attack works. Under `joint_key` the same attack, and others on the structure of a state, are right as
often as a coin. A test of attacks cannot show that there is no better one: that is for docs/joint-key.md. So
that each of these could succeed, three of them also run on keys or states that are weakened, and read every
step. `benchmarks/one_server_and_device.py` has the attacks, and runs 10,000 steps.

An intruder who also writes to the device is another one: see the last test.
"""

import random
from dataclasses import replace

import pytest

from benchmarks.one_server_and_device import (
    Advantage,
    JointKeyScene,
    TwoServerScene,
    Unblinded,
    advantages,
    bound,
    copies_advantage,
    copies_simulated,
)
from panprivacy.encryption.interface import InvalidCiphertextError
from panprivacy.protocols.joint_key.groups import G1, plus_1
from panprivacy.protocols.joint_key.proven_bits import ProvenBit, all_hold, fresh

SOURCE = random.Random(3800)
FAILURE = 1e-7
"""Of each confidence interval; there are seven."""


def found(
    scene: TwoServerScene | JointKeyScene, steps: int, source: random.Random = SOURCE
) -> dict[str, Advantage]:
    """Of each attack; the intruder learns from 10 steps of its own."""
    return advantages(scene, steps, lessons=10, failure_probability=FAILURE, source=source, challenger=SOURCE)


def test_one_servers_secrets_and_all_states_show_no_event() -> None:
    """Fails by chance with probability at most 6e-7. An advantage above 0.9 is found but for the same: limits
    that contain 0 leave it out."""
    advantage = found(JointKeyScene(SOURCE), 48)
    assert len(advantage) == 6
    for name, each in advantage.items():
        assert each.low <= 0 <= each.high < 0.9, name


def test_one_servers_key_reads_every_step_of_two_servers() -> None:
    assert found(TwoServerScene(SOURCE), 100)["own half decrypted"].value == 1


@pytest.mark.parametrize(
    ("attack", "weakened"),
    [
        ("own half decrypted", {"both_servers": True}),
        ("pairings of the difference", {"one_secret": True}),
        ("one state's proof for another's ciphertext", {}),
    ],
)
def test_attack_reads_every_step_of_what_is_weakened(attack: str, weakened: dict[str, bool]) -> None:
    """With both secrets; with one secret in both groups; with proofs that are not blinded."""
    scene = JointKeyScene(SOURCE, **weakened)
    scene.attacks = {attack: scene.attacks[attack]}
    assert found(scene, 12, SOURCE if weakened else Unblinded(SOURCE))[attack].value == 1


def test_copies_give_what_the_coins_of_others_leave() -> None:
    """Exact by convolution, and by tossing each coin: fails by chance with probability at most 1e-7."""
    for epsilon, reports, copies in ((1.0, 400, 5), (0.1, 400, 20)):
        exact = copies_advantage(epsilon, reports, copies)
        assert 0.1 < exact < bound(epsilon, reports, copies) < 1
    games = 2_000
    simulated = Advantage.of(copies_simulated(1.0, 400, 5, games, SOURCE), games, FAILURE)
    assert simulated.low <= copies_advantage(1.0, 400, 5) <= simulated.high
    assert copies_advantage(1.0, 10_000, 50) == pytest.approx(0.427, abs=1e-3)


def test_device_does_not_go_on_from_a_state_that_an_intruder_broke() -> None:
    """A step would carry a proof that does not hold into one that does not hold, and an event replaces it by
    one that does: without a key the intruder would see which."""
    scene = JointKeyScene(SOURCE)
    key, state = scene.device_key(SOURCE), fresh(scene.joint, 0, SOURCE)
    key.require_kept([state])
    broken = replace(state, theta=(plus_1(state.theta[0], (G1, G1)), state.theta[1]))
    for event in (False, True):
        after = key.replace_or_rerandomize(event, 1, broken, SOURCE, rerandomizations=1)
        read = ProvenBit.decode(bytes(key.rerandomize(after, SOURCE)))
        assert all_hold(scene.joint, [read], SOURCE) is event
    with pytest.raises(InvalidCiphertextError, match="it was changed"):
        key.require_kept([broken])
