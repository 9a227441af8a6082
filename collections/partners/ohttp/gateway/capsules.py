"""Capsules that came to this server: opened with its keys, and answered in one that the asker alone opens."""

import secrets

from panprivacy.protocols.oblivious_http import capsules, padding
from panprivacy.protocols.oblivious_http.binary_http import Response
from panprivacy.protocols.oblivious_http.capsules import (
    KEY_PROBLEM,
    CapsuleError,
    ServerContext,
    UnknownKeyError,
)
from partners.ohttp.gateway.keys import PrivateKeys
from web.problems import Problem


def capsule_open(capsule: bytes) -> tuple[bytes, ServerContext]:
    """What was sealed, and what seals the answer to it.

    Raises:
        Problem: `KEY_PROBLEM`, it is to a key that is not here (any more); or `capsule-refused`, it was cut
            or altered. Both are answered unencrypted: there is nothing to seal the answer with.
    """
    try:
        return capsules.open_(PrivateKeys(), capsule)
    except UnknownKeyError:
        raise Problem(KEY_PROBLEM, "The key is unknown", 400, "Fetch this server's keys anew.") from None
    except CapsuleError:
        raise Problem("capsule-refused", "The capsule does not open", 400, "Seal the request anew.") from None


def answer_seal(context: ServerContext, response: Response) -> bytes:
    """The answer's capsule, of a length that reveals little."""
    return context.seal(padding.padded_answer(response.encode()), secrets.SystemRandom())
