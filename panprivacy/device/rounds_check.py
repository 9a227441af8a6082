"""A device's check of the document of all rounds ahead of taking part in one."""

import json
from dataclasses import dataclass
from typing import Any

from panprivacy.device.algorithm import DeviceError
from panprivacy.device.log_check import LogCheck
from panprivacy.device.rounds_memory import RoundsMemory
from panprivacy.device.transport import API, Transport, TransportError, json_object
from panprivacy.formats import base64_text
from panprivacy.planning.limits import RecipeLimits
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.rounds.document import PublishedRounds, RoundRefusedError
from panprivacy.recipe.rounds.public_input import RoundInput


class AlreadyContributedError(DeviceError):
    """The device gave in another round of a recipe in which it gives once."""


@dataclass(frozen=True)
class Turn:
    """One round, checked.

    Attributes:
        rounds: the document of all rounds.
        number: of this round.
        input: its public input; None if there is none.
        memory: the device's notes about the rounds in which it gives; None for simulated ones.
    """

    rounds: PublishedRounds
    number: int
    input: RoundInput | None
    memory: RoundsMemory | None = None

    def record_donation(self) -> None:
        """Note that the device's coin let it take part. Call it first, and then store the round's state: a
        device that loses power in between gives nothing, instead of twice."""
        if self.rounds.once and self.memory is not None:
            self.memory.record_donation(self.rounds.identifier, self.number)


def round_require(
    recipe: PublishedRecipe,
    transport: Transport,
    verification_key: bytes,
    *,
    memory: RoundsMemory | None,
    log: LogCheck | None = None,
    limits: RecipeLimits | None = None,
) -> Turn | None:
    """Check a verified recipe that is a round; None for one that is none.

    Args:
        transport: to the site that published it.
        verification_key: of that site, 32 bytes, pinned.
        memory: what was already seen; None for simulated devices, which have no past.
        log: checks that the log has the document and the public input, if one is asked.
        limits: of the device, for all rounds together; None for a simulated one.

    Raises:
        RoundRefusedError: it is not the round that it claims to be, or another was already seen as this one.
        AlreadyContributedError: the device gave in another round, and gives once.
        RecipeVerificationError, FieldError: of the documents; or all rounds together are beyond the limits.
        LogRefusedError, TransportError: as in `LogCheck`, and if no answer comes.
    """
    place = recipe.round
    if place is None:
        return None
    key = public_key_of(verification_key)
    rounds = PublishedRounds.verified(*_fetched(transport, f"rounds/{place.of}/", log), key)
    if rounds.identifier != place.of:
        raise RoundRefusedError("the site answered with another document of rounds")
    rounds.require_round(recipe)
    if memory is None or not memory.is_known(place.of):
        rounds.require_promise(limits)
    public_input = None
    if place.input is not None:
        public_input = RoundInput.verified(*_fetched(transport, f"round-inputs/{place.input}/", log), key)
        if (public_input.identifier, public_input.of, public_input.number) != (
            place.input,
            place.of,
            place.number,
        ):
            raise RoundRefusedError("its public input is of another round")
    if memory is not None:
        memory.record_round(place.of, place.number, recipe.identifier)
        before = memory.donation_round(place.of)
        if rounds.once and before is not None and before != place.number:
            raise AlreadyContributedError(f"this device gave in round {before:,}, and gives once")
    return Turn(rounds, place.number, public_input, memory)


def _fetched(transport: Transport, target: str, log: LogCheck | None) -> tuple[dict[str, Any], str, bytes]:
    """Document, identifier and signature, not verified except for the log."""
    served = json_object(transport.get(f"{API}/{target}"))
    document, identifier = served.get("document"), served.get("id")
    try:
        signature = base64_text.decode(served.get("signature"), 64)
    except base64_text.Base64Error:
        signature = b""
    if not isinstance(document, dict) or not isinstance(identifier, str) or not signature:
        raise TransportError("the document is not of the documented form")
    if log is not None:
        log.require_file(json.dumps(served).encode(), target, transport, what="document")
    return document, identifier, signature
