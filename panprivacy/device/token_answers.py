"""A device's reaction to an answer without a token, by the answer's `type` (docs/protocol.md).

Devices in browsers have the same table; the vectors hold both equal (`tests/devices_web/vectors.py`).
"""

from collections.abc import Mapping
from enum import StrEnum

from panprivacy.protocols.oblivious_http.capsules import KEY_PROBLEM


class TokenRemedy(StrEnum):
    """The reactions."""

    FINAL = "final"
    """Nothing: no attempt can bring this device a token of the recipe."""
    SEAL = "seal anew"
    """The issuer did not read the request: fetch its keys, and seal the same request anew."""
    BLIND = "blind anew"
    """Ask for the same token with a fresh blinding factor."""
    LATER = "later"
    """Repeat the same request. The remedy for all types that are not listed."""


OF_ATTESTER: Mapping[str, TokenRemedy] = {
    "/problems/already-issued": TokenRemedy.FINAL,
    # Another device asked with this blinded message and did not get the answer, so no device may get it.
    "/problems/request-used": TokenRemedy.BLIND,
    KEY_PROBLEM: TokenRemedy.SEAL,
    "/problems/capsule-refused": TokenRemedy.SEAL,
}
"""Of answers in the clear."""

OF_ISSUER: Mapping[str, TokenRemedy] = {
    # The content of the request was drawn when the device joined, so another attempt would send the same.
    "/problems/malformed-token-request": TokenRemedy.FINAL,
    # It issues tokens from before the recipe's publication until its end: it is never too early.
    "/problems/recipe-not-open": TokenRemedy.FINAL,
}
"""For answers in a capsule. After any of them nothing was issued, and the next attempt seals anew: the
attester may keep the answer to a capsule for a day."""


def remedy(problem_type: object, answers: Mapping[str, TokenRemedy]) -> TokenRemedy:
    """The reaction to an answer of this type, which may be absent (None) or no text."""
    return answers.get(str(problem_type), TokenRemedy.LATER)
