"""What a device does about an answer that brings no token, by the answer's `type` (docs/protocol.md).

Devices in browsers have the same table; the vectors hold both equal (`tests/devices_web/vectors.py`).
"""

from collections.abc import Mapping
from enum import StrEnum

from panprivacy.oblivious_http.capsules import KEY_PROBLEM


class Remedy(StrEnum):
    """What is to be done."""

    FINAL = "final"
    """Nothing: no attempt can bring this device a token of the recipe any more."""
    SEAL = "seal anew"
    """The issuer did not read the request: fetch its keys, and seal the same request anew."""
    BLIND = "blind anew"
    """Ask for the same token with a fresh blinding factor."""
    LATER = "later"
    """Ask again, as before. The remedy for all types that are named nowhere."""


OF_ATTESTER: Mapping[str, Remedy] = {
    "/problems/already-issued": Remedy.FINAL,
    # Another device asked with this blinded message and did not get the answer, so that nobody may.
    "/problems/request-used": Remedy.BLIND,
    KEY_PROBLEM: Remedy.SEAL,
    "/problems/capsule-refused": Remedy.SEAL,
}
"""Of answers in the clear."""

OF_ISSUER: Mapping[str, Remedy] = {
    # What the request says was drawn when the device joined, so another attempt would say the same.
    "/problems/malformed-token-request": Remedy.FINAL,
    # It issues from before the recipe is published until it ends: it is never too early.
    "/problems/recipe-not-open": Remedy.FINAL,
}
"""Of answers in a capsule. After any of them nothing was issued, and the next attempt seals anew: the
attester may keep the answer to a capsule for a day."""


def remedy(problem_type: object, answers: Mapping[str, Remedy]) -> Remedy:
    """What to do about an answer of this type, which may be none (None) or no text at all."""
    return answers.get(str(problem_type), Remedy.LATER)
