"""What a browser made is what this side makes of the same bytes, and it can be continued and read here."""

import base64
import json
from typing import Any

import pytest

from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import PrivateKey
from panprivacy.protocols.encrypted_shares.configuration import open_part
from panprivacy.protocols.prio3.prio3 import Prio3Count
from panprivacy.recipe.document import PublishedRecipe
from tests.devices_web import vectors
from tests.panprivacy.device.two_servers import share_key_of

BROWSER = json.loads((vectors.FOLDER / "js.json").read_text())["cases"]
SEEDS = [case["seed"] for case in BROWSER]
TICKING = [case for case in BROWSER if "ticks" in case]


def computed(case: dict[str, Any]) -> dict[str, Any]:
    if "value" in case:
        return vectors.value_case(case["name"], case["seed"], case["value"])
    return vectors.device_case(case["name"], case["seed"], case["events"], case.get("ticks", ()))


def test_file_of_this_side_is_what_it_makes_now() -> None:
    assert json.loads((vectors.FOLDER / "python.json").read_text()) == vectors.contents()


def test_browser_made_every_case_that_this_side_has() -> None:
    assert [case["seed"] for case in vectors.cases("js")] == SEEDS


@pytest.mark.parametrize("case", BROWSER, ids=SEEDS)
def test_browser_makes_the_same_bytes(case: dict[str, Any]) -> None:
    """So that states, reports and tokens of a browser are all that tests find of `panprivacy.device`'s."""
    assert computed(case) == case


@pytest.mark.parametrize("case", TICKING, ids=[case["seed"] for case in TICKING])
def test_ticks_of_a_browser_take_events_in_once(case: dict[str, Any]) -> None:
    """Which devices of this side do not have."""
    recipe, ticks = vectors.recipe_of(case["name"]), case["ticks"]
    for tick in range(len(ticks) + 1):
        assert plaintexts(recipe, case["states"][tick]) == indicators(recipe, max(ticks[:tick], default=0))


def indicators(recipe: PublishedRecipe, count: int) -> list[int]:
    """What the state of a device with so many events encrypts (LPP, Algorithms 3 to 5)."""
    if recipe.statistic == "count_nonzero":
        return [int(count > 0)]
    k = getattr(recipe.parameters, "k", 0)
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
