"""What a browser made is what this side makes of the same bytes, and it can be continued and read here."""

import base64
import json
import random
from typing import Any

import pytest

from devices_sim.algorithm import ClientAlgorithm, Phase
from panprivacy.admission import TokenRefusedError, token_nonce
from panprivacy.encryption.interface import PrivateKey
from panprivacy.prio3.prio3 import Prio3Count
from panprivacy.recipe import PublishedRecipe
from panprivacy.trust import Trust
from panprivacy.two_server.part import open_part
from tests.devices_sim.two_servers import share_key_of
from tests.devices_web import vectors

BROWSER = json.loads((vectors.FOLDER / "js.json").read_text())["cases"]
COLLECTING = [case for case in BROWSER if "events" in case and case["states"][0]["phase"] == "collecting"]
STEPPING = [case for case in COLLECTING if "ticks" not in case]
WITH_TOKEN = [case for case in BROWSER if "tokens" in case]
TICKING = [case for case in COLLECTING if "ticks" in case]


def computed(case: dict[str, Any]) -> dict[str, Any]:
    if "value" in case:
        return vectors.value_case(case["name"], case["seed"], case["value"])
    return vectors.device_case(case["name"], case["seed"], case["events"], case.get("ticks", ()))


def seed_of(case: dict[str, Any]) -> str:
    seed: str = case["seed"]
    return seed


def test_file_of_this_side_is_what_it_makes_now() -> None:
    assert json.loads((vectors.FOLDER / "python.json").read_text()) == vectors.contents()


def test_browser_made_every_case_that_this_side_has() -> None:
    assert [seed_of(case) for case in BROWSER] == [seed_of(case) for case in vectors.cases("js")]


@pytest.mark.parametrize("case", BROWSER, ids=seed_of)
def test_browser_makes_the_same_bytes(case: dict[str, Any]) -> None:
    assert computed(case) == case


@pytest.mark.parametrize("case", STEPPING, ids=seed_of)
def test_states_of_a_browser_hold_what_happened_after_every_step(case: dict[str, Any]) -> None:
    recipe, states = vectors.recipe_of(case["name"]), case["states"]
    for step in range(vectors.STEPS + 1):
        count = sum(case["events"][:step])
        assert plaintexts(recipe, states[step]) == indicators(recipe, count)


@pytest.mark.parametrize("case", TICKING, ids=seed_of)
def test_ticks_of_a_browser_take_events_in_once(case: dict[str, Any]) -> None:
    recipe, ticks = vectors.recipe_of(case["name"]), case["ticks"]
    for tick in range(len(ticks) + 1):
        assert plaintexts(recipe, case["states"][tick]) == indicators(recipe, max(ticks[:tick], default=0))


@pytest.mark.parametrize("case", STEPPING, ids=seed_of)
def test_state_of_a_browser_is_continued_here(case: dict[str, Any]) -> None:
    recipe = vectors.recipe_of(case["name"])
    algorithm, source = ClientAlgorithm(recipe), random.Random(1)
    state = vectors.state_of(recipe, case["states"][2])
    for _ in range(2, vectors.STEPS):
        state = algorithm.step(state, True, source)
    count = sum(case["events"][:2]) + vectors.STEPS - 2
    assert plaintexts(recipe, vectors.kept(state)) == indicators(recipe, count)
    assert algorithm.finish(state, source).phase is Phase.REPORTED


@pytest.mark.parametrize("case", WITH_TOKEN, ids=seed_of)
def test_token_of_a_browser_is_one_of_this_side(case: dict[str, Any]) -> None:
    recipe, (_, came) = vectors.recipe_of(case["name"]), case["tokens"]
    token = base64.b64decode(came["token"])
    nonce = token_nonce(recipe, token)
    report = case["states"][-1]
    assert report["phase"] == "done" or base64.b64decode(report["nonce"]) == nonce
    with pytest.raises(TokenRefusedError):
        token_nonce(recipe, bytes([*token[:-1], token[-1] ^ 1]))


def indicators(recipe: PublishedRecipe, count: int) -> list[int]:
    """What the state of a device with so many events encrypts (LPP, Algorithms 3 to 5)."""
    k = getattr(recipe.parameters, "k", 0)
    if recipe.statistic == "count_nonzero":
        return [int(count > 0)]
    if recipe.statistic == "mean":
        return [int(count >= j) for j in range(1, k + 1)]
    return [int(count == i) for i in range(k + 1)] + [int(count >= i) for i in range(k + 1)]


def plaintexts(recipe: PublishedRecipe, members: dict[str, Any]) -> list[int]:
    encoded = [base64.b64decode(ciphertext) for ciphertext in members["ciphertexts"]]
    if recipe.trust == Trust.TWO_SERVER:
        return [shared_bit(recipe, ciphertext, base64.b64decode(members["nonce"])) for ciphertext in encoded]
    key = vectors.private_key()
    return [key.decrypt(key.public_key.parse(ciphertext), range(2)) for ciphertext in encoded]


def shared_bit(recipe: PublishedRecipe, ciphertext: bytes, nonce: bytes) -> int:
    """The bit of a sharing; both servers verify its proof on the way."""
    keys: list[PrivateKey] = [share_key_of("elgamal-secp256k1", side) for side in (0, 1)]
    vdaf, context = Prio3Count(), recipe.public_key.context + nonce
    parts = recipe.public_key.split(ciphertext)
    verify_key, states, shares = bytes(32), [], []
    for side in (0, 1):
        share = open_part(keys[side], parts[side], side)
        state, verifier = vdaf.verify_init(verify_key, context, side, nonce, b"", share)
        states.append(state)
        shares.append(verifier)
    message = vdaf.verifier_shares_to_message(context, shares)
    [bit] = vdaf.unshard([vdaf.verify_next(state, message) for state in states])
    return bit
