"""Another installation with which this one runs recipes, and asking it in JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats import base64_text
from partners.client import PeerAnswer, PeerClient, PeerUnavailableError
from web.bodies import JSON_TYPE
from web.strict_json import JSONRefusedError, json_of
from web.transport import Transport, https_transport


@dataclass(frozen=True)
class Partner:
    """Another server with which this installation runs recipes, as settings or running services name it: the
    partners are helper, shuffler and issuer.

    Attributes:
        url: its base address.
        verification_key: its Ed25519 key, 32 bytes.
        leader_url: our own base address, for a helper; empty for the other partners, which need none.
        signing_key: our Ed25519 key, 32 bytes.
    """

    url: str
    verification_key: bytes
    leader_url: str
    signing_key: bytes
    transport: Transport = https_transport

    def client(self) -> PeerClient:
        """A client that speaks to it."""
        return PeerClient(
            url=self.url,
            verification_key=self.verification_key,
            signing_key=self.signing_key,
            transport=self.transport,
        )


def ask_json(
    peer: PeerClient, method: str, path: str, content: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Send a JSON object, or nothing, and read the JSON object that comes back.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    body = b"" if content is None else json.dumps(content).encode()
    answer: PeerAnswer = peer.send(method, path, body, JSON_TYPE if body else "")
    try:
        decoded = json_of(answer.body)
    except JSONRefusedError as error:
        raise PeerUnavailableError("the answer is not JSON") from error
    if not isinstance(decoded, dict):
        raise PeerUnavailableError("the answer is not a JSON object")
    return decoded


def member_of(answer: Mapping[str, Any], name: str, kind: type) -> Any:
    """A field of an answer, if it is of that type. Raises PeerUnavailableError otherwise."""
    value = answer.get(name)
    if type(value) is not kind:
        raise PeerUnavailableError(f"the answer lacks {name}")
    return value


def signature_of(answer: Mapping[str, Any]) -> bytes:
    """The field `signature` of an answer, unchecked. Raises PeerUnavailableError if it is not base64."""
    try:
        return base64_text.decode(member_of(answer, "signature", str))
    except base64_text.Base64Error as error:
        raise PeerUnavailableError("the signature in the answer is not base64") from error
