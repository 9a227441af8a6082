"""What is due: old answers and codes are deleted, and the issuer is notified which tokens were withheld."""

import secrets
from datetime import datetime
from urllib.parse import urlsplit

from panprivacy.protocols.attestation import CAPSULE_BYTES
from panprivacy.protocols.oblivious_http import capsules, padding
from panprivacy.protocols.oblivious_http.keys import KeyConfig
from panprivacy.protocols.oblivious_prf import evaluation
from panprivacy.protocols.token_request import token_request
from tokens.attester.enrolment import codes_expire
from tokens.attester.issuer import Issuer
from tokens.attester.issuer_answers import answers_erase, handles_told, handles_untold
from tokens.attester.models import PSEUDONYM_BYTES

NO_RECIPE = "0" * 64
"""Not the hash of any document."""


def upkeep(*, now: datetime) -> None:
    """Delete what is kept for a day, and unused codes. Safe to run at any time, even twice."""
    answers_erase(today=now.date())
    codes_expire(today=now.date())


def withheld_tell(*, issuer: Issuer, url: str, config: KeyConfig) -> int:
    """Notify the issuer of all withheld tokens; returns the number of those that are new to it.

    Later requests of devices carry them, too. Here a request for a recipe that cannot be takes their place.

    Args:
        url: the issuer's base address.
        config: its key for capsules.

    Raises:
        Problem: the issuer does not answer as it should.
    """
    total = 0
    while told := handles_untold():
        asked = evaluation.ask(secrets.token_bytes(PSEUDONYM_BYTES), secrets.SystemRandom())
        issuer.answer(asked.element, _for_no_recipe(url, config), told)
        handles_told(told)
        total += len(told)
    return total


def _for_no_recipe(url: str, config: KeyConfig) -> bytes:
    inner = token_request(urlsplit(url).netloc, NO_RECIPE, b"")
    capsule, _ = capsules.seal(config, padding.padded(inner.encode()), secrets.SystemRandom())
    if len(capsule) != CAPSULE_BYTES[config.key.kem]:
        raise ValueError("a sealed token request has one length")
    return capsule
