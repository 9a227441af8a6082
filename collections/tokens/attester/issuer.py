"""Asking the issuer: it evaluates a blinded element, and answers a capsule that it alone can open."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from django.conf import settings

from panprivacy.formats import base64_text
from panprivacy.protocols.oblivious_http.capsules import KEY_PROBLEM
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.issuer_calls import HANDLE_BYTES
from partners.required_settings import required
from web.bodies import JSON_TYPE
from web.problems import Problem, unavailable
from web.strict_json import json_of
from web.transport import https_transport

SECONDS = 30.0
"""For a request as a whole. The device is asked to retry after that."""

LARGEST_CAPSULE = 64 * 1024
"""Bytes of a sealed answer, at most."""

LARGEST_ANSWER = 2 * LARGEST_CAPSULE


@dataclass(frozen=True)
class Evaluated:
    """What the issuer answers.

    Attributes:
        capsule: for the device, sealed.
        element: the evaluated element; None if the request in the capsule failed; only the capsule holds the
            reason.
        handle: the issuer's name of what it signed, `HANDLE_BYTES`; None with `element`.
    """

    capsule: bytes
    element: bytes | None
    handle: bytes | None


class Issuer(Protocol):
    """The server that answers capsules."""

    def answer(self, element: bytes, capsule: bytes, withheld: Sequence[bytes]) -> Evaluated:
        """One request. Raises Problem: then nothing was handed out, and the same may be sent again."""


@dataclass(frozen=True)
class SignedIssuer:
    """The issuer that the settings name, over the network."""

    client: PeerClient

    def answer(self, element: bytes, capsule: bytes, withheld: Sequence[bytes]) -> Evaluated:
        content = {
            "element": base64_text.encode(element),
            "capsule": base64_text.encode(capsule),
            "withheld": [base64_text.encode(handle) for handle in withheld],
        }
        try:
            answer = self.client.post("/tokens", json.dumps(content).encode(), JSON_TYPE)
        except PeerUnavailableError:
            raise unavailable(
                "The issuer does not answer. Nothing was stored. Send the same again."
            ) from None
        except PeerRefusedError as refusal:
            raise _refusal(refusal) from None
        return read_evaluated(answer.body)


def issuer() -> Issuer:
    """The issuer of this installation."""
    return SignedIssuer(
        PeerClient(
            url=required(settings.ISSUER_URL, "PANAPP_ISSUER_URL"),
            verification_key=required(settings.ISSUER_KEY, "PANAPP_ISSUER_KEY"),
            signing_key=settings.SIGNING_KEY,
            transport=partial(https_transport, seconds=SECONDS, largest_answer=LARGEST_ANSWER),
        )
    )


def issuer_failed(detail: str) -> Problem:
    """The issuer answered what no issuer answers."""
    detail = f"{detail} Nothing was stored. Send the same again later."
    return Problem("issuer-failed", "The issuer's answer cannot be used", 502, detail)


def read_evaluated(body: bytes) -> Evaluated:
    """The issuer's answer, read strictly. Raises Problem if it is invalid."""
    try:
        content: Any = json_of(body)
        if set(content) != {"element", "capsule", "handle"}:
            raise ValueError
        capsule = base64_text.decode(content["capsule"])
        element = _optional(content["element"], None)
        handle = _optional(content["handle"], HANDLE_BYTES)
    except (ValueError, TypeError):
        raise issuer_failed("It is not of the form that was agreed.") from None
    if (element is None) != (handle is None) or not 0 < len(capsule) <= LARGEST_CAPSULE:
        raise issuer_failed("It is not of the form that was agreed.")
    return Evaluated(capsule, element, handle)


def capsule_hash(capsule: bytes) -> bytes:
    """By which an answer is found again, 32 bytes."""
    return hashlib.sha256(capsule).digest()


def _optional(value: object, length: int | None) -> bytes | None:
    return None if value is None else base64_text.decode(value, length)


def _refusal(refusal: PeerRefusedError) -> Problem:
    kind = refusal.problem.get("type")
    if kind == KEY_PROBLEM:
        return Problem(KEY_PROBLEM, "The key is unknown", 400, "Fetch the issuer's keys anew.")
    if kind == "/problems/capsule-refused":
        return Problem("capsule-refused", "The capsule does not open", 400, "Seal the request anew.")
    return issuer_failed("It refused what an attester asks.")
