"""The leader's side of agreeing on a task with the helper: resources of our own, which DAP leaves out.

Every call may be made again after it got no answer, with the same arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.encryption import load_public_key
from panprivacy.encryption.interface import InvalidKeyError, SchemeKey
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.task import TaskConfiguration
from partners.client import (
    UNRECOGNIZED_TASK,
    PeerClient,
    PeerRefusedError,
    PeerUnavailableError,
)
from partners.partner import Partner, ask_json, member_of, signature_of


def helper_key(partner: Partner, *, request: bytes, scheme: str) -> SchemeKey:
    """The helper's public key for the shares of one recipe.

    Args:
        request: 16 random bytes; the same ones give the same key, for a day or until it is used.
        scheme: registered name of the encryption scheme.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(partner.client(), "POST", "/keys", {"request": request.hex(), "encryption": scheme})
    try:
        key = load_public_key(member_of(answer, "public_key", dict))
    except (FieldError, InvalidKeyError) as error:
        raise PeerUnavailableError(f"the helper's public key cannot be used: {error}") from error
    if key.scheme != scheme:
        raise PeerUnavailableError("the helper's public key is of another scheme")
    return key


def recipe_task_register(
    partner: Partner,
    *,
    task_id: bytes,
    document: bytes,
    request: bytes,
    verify_key: bytes,
    collector_config: HpkeConfig,
    rounds: bytes = b"",
) -> bytes:
    """Have the helper take part in a two-server recipe.

    Args:
        task_id: 32 bytes, SHA-256 of the document.
        document: canonical JSON of the recipe, with the key that `request` gave.
        verify_key: drawn by us before any report.
        rounds: canonical JSON of the document of all rounds, if the recipe is one of them.

    Returns:
        The helper's Ed25519 signature of the recipe, 64 bytes, unchecked.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    members = {"document": document.decode(), "request": request.hex()}
    if rounds:
        members["rounds"] = rounds.decode()
    return signature_of(_register(partner, task_id, verify_key, collector_config, members))


def plain_task_register(
    partner: Partner,
    *,
    task_id: bytes,
    configuration: TaskConfiguration,
    verify_key: bytes,
    collector_config: HpkeConfig,
) -> None:
    """Have the helper take part in a plain task. Raises PeerUnavailableError or PeerRefusedError."""
    members = {"task_configuration": base64_text.encode(configuration.encode())}
    _register(partner, task_id, verify_key, collector_config, members)


def _register(
    partner: Partner, task_id: bytes, verify_key: bytes, config: HpkeConfig, members: Mapping[str, str]
) -> dict[str, Any]:
    secrets = {
        "verify_key": base64_text.encode(verify_key),
        "collector_hpke_config": base64_text.encode(config.encode()),
    }
    return ask_json(partner.client(), "PUT", _address(task_id), {**members, **secrets})


@dataclass(frozen=True)
class SignedCount:
    """The helper's answer about the number of reports that is published.

    Attributes:
        report_count: reports that it added up, exactly.
        signature: of the published number; Ed25519, unchecked.
    """

    report_count: int
    signature: bytes


COUNT_REFUSED = "/problems/count-refused"
"""Type of the problem document that refuses to sign a number of reports."""


def is_count_refused(error: Exception) -> bool:
    """Whether the helper answers that it did not count the number that is to be published."""
    return isinstance(error, PeerRefusedError) and error.problem.get("type") == COUNT_REFUSED


def count_signed_at_helper(helper: PeerClient, *, task_id: bytes, reports: int) -> SignedCount:
    """Have the helper sign the number of reports that is published of a task whose share it gave out. It
    signs one number of a task. Raises PeerUnavailableError or PeerRefusedError."""
    answer = ask_json(helper, "POST", f"{_address(task_id)}/count", {"reports": str(reports)})
    return SignedCount(member_of(answer, "report_count", int), signature_of(answer))


def task_end_at_helper(partner: Partner, *, task_id: bytes, reason: str) -> None:
    """End the task on the helper's side: its keys and shares are deleted there. Idempotent.

    A task that the helper does not know has no keys there either.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    try:
        ask_json(partner.client(), "DELETE", _address(task_id), {"reason": reason})
    except PeerRefusedError as refusal:
        if refusal.token != UNRECOGNIZED_TASK:
            raise


def _address(task_id: bytes) -> str:
    return f"/tasks/{base64_text.encode_url(task_id)}"
