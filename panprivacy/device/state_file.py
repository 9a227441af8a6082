"""The bytes of a device's state file: version, checksum, canonical JSON.

It holds the public recipe, the public step counter, the report's random nonce, and ciphertexts; no seed, no
plaintext, no time of any event. For a device that is done it keeps public facts of the recipe, and how the
device ended (`DoneState`). Until then its size depends only on the recipe, on the counter, and on whether the
token has come if the recipe asks for one. Sampled or not, every device draws, asks for and keeps a token
alike, and ends alike.

One exception: if not sending is a part of the randomizer (`relayed` rare categories), a device that does not
send is done at once, and any other keeps its report until it is delivered. A server that refuses reports
prolongs that. The kept bytes must determine whether the next attempt sends, so an intruder sees it too: a
kept report shows that the value is probably not the default.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.device.algorithm import DeviceState, Phase, kept_ciphertexts
from panprivacy.device.storage import StateFileError
from panprivacy.device.tokens import TokenState
from panprivacy.device.transport import ServedRecipe
from panprivacy.encryption.interface import REPORT_NONCE_BYTES, NonceBoundKey
from panprivacy.formats import base64_text
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.formats.times import format_time, parse_time
from panprivacy.planning.limits import NO_LOCAL_LIMIT, report_epsilon
from panprivacy.protocols.privacy_pass.tokens import SIGNATURE_BYTES
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.token import SEED_BYTES, bound_nonce, token_nonce

FORMAT = b"panapp-device-state-2\n"
ANY_FORMAT = b"panapp-device-state-"
CHECKSUM_BYTES = 32

MOST_REFUSED_BYTES = 300
"""Of the text that gives the reason why a device gets no token; part of it comes from the attester or the
issuer."""


class ForeignStateError(StateFileError):
    """Not a state file, or of a version that this program does not know."""


class DamagedStateError(StateFileError):
    """A state file whose content differs from what was written."""


@dataclass(frozen=True)
class Enrolment:
    """The recipe that a device joined, with its server and keys; all public.

    Attributes:
        served: the recipe as the server handed it out.
        verification_key: the pinned Ed25519 key, 32 bytes.
        server: the address that reports go to, in the caller's own form; may be empty.
        helper_key: the pinned Ed25519 key of the helper, or of the shuffler; None if none was pinned.
        issuer_key: the pinned key of the issuer of tokens; None if none was pinned.
    """

    served: ServedRecipe
    verification_key: bytes
    server: str
    helper_key: bytes | None = None
    issuer_key: bytes | None = None

    def verified(self) -> PublishedRecipe:
        """The recipe, checked against the pinned keys; raises as `ServedRecipe.verified`."""
        return self.served.verified(self.verification_key, self.helper_key, self.issuer_key)


def encode(enrolment: Enrolment, state: DeviceState, token: TokenState | None = None) -> bytes:
    """The file's content until the device is done; then see `DoneState.encode`."""
    members = {
        "phase": state.phase.value,
        "recipe": enrolment.served.identifier,
        "document": enrolment.served.document,
        "signature": base64_text.encode(enrolment.served.signature),
        "verification_key": base64_text.encode(enrolment.verification_key),
        "server": enrolment.server,
        "step": state.step,
        "ciphertexts": [base64_text.encode(bytes(ciphertext)) for ciphertext in state.ciphertexts],
        "nonce": base64_text.encode(state.nonce),
    }
    others = {
        "helper_key": enrolment.helper_key,
        "helper_signature": enrolment.served.partner_signature,
        "issuer_key": enrolment.issuer_key,
        "issuer_signature": enrolment.served.issuer_signature,
    }
    members |= {name: base64_text.encode(value) for name, value in others.items() if value is not None}
    if token is not None:
        members["token"] = _token_members(token)
    return _content(members)


def _content(members: Mapping[str, Any]) -> bytes:
    body = canonical_json(members)
    return FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body + b"\n"


@dataclass(frozen=True)
class DoneState:
    """The content of the file of a device that is done. It does not show whether the device was sampled.

    Attributes:
        identifier: of the recipe.
        name: of the recipe.
        event: the names of its events, joined by commas; None if it names none.
        epsilon: the local ε of one report, see `report_epsilon`; None if there is none.
        sent: the day (UTC) on which the device sent its report, or would have if it had been sampled, in the
            form 2026-01-31; None if it sent none. A day, because a time would show which report is whose to
            a reader of the server's log.
        refused: why it got no token (the first 300 bytes); otherwise empty.
        left: whether it left the recipe before its report.
    """

    identifier: str
    name: str
    event: str | None
    epsilon: float | None
    sent: str | None = None
    refused: str = ""
    left: bool = False

    @classmethod
    def of(
        cls, recipe: PublishedRecipe, *, sent: str | None = None, refused: str = "", left: bool = False
    ) -> "DoneState":
        """The state after a recipe."""
        # Another's words need not be text that can be written.
        written = refused.encode(errors="replace")[:MOST_REFUSED_BYTES].decode(errors="ignore")
        epsilon = report_epsilon(recipe.calibrated_statistic)
        return cls(recipe.identifier, recipe.name, recipe.event_name, epsilon, sent, written, left)

    def encode(self) -> bytes:
        """The file's content; `decode` reads it."""
        members: dict[str, Any] = {"phase": Phase.DONE.value, "recipe": self.identifier}
        kept = {name: getattr(self, name) for name in ("name", "event", "epsilon", "sent", "refused", "left")}
        return _content(members | {name: value for name, value in kept.items() if value})


@dataclass(frozen=True)
class LiveState:
    """The content of any other state file."""

    enrolment: Enrolment
    recipe: PublishedRecipe
    state: DeviceState
    token: TokenState | None = None


def decode(content: bytes) -> LiveState | DoneState:
    """Inverse of `encode`.

    Raises:
        ForeignStateError: not a state file of this version.
        DamagedStateError: the checksum, the recipe or a ciphertext does not hold.
    """
    if not content.startswith(FORMAT):
        version = " of this version" if content.startswith(ANY_FORMAT) else ""
        raise ForeignStateError(f"this is not a device's state file{version}")
    checksum, _, body = content[len(FORMAT) :].partition(b"\n")
    body = body.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise DamagedStateError("the state file is damaged: its checksum does not hold")
    try:
        members = json.loads(body)
        if members["phase"] == Phase.DONE:
            return _done(members)
        return _live(members)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise DamagedStateError(f"the state file is damaged: {error}") from error


def _done(members: Mapping[str, Any]) -> DoneState:
    done = DoneState(
        members["recipe"],
        members["name"],
        members.get("event"),
        members.get("epsilon"),
        members.get("sent"),
        members.get("refused", ""),
        members.get("left", False),
    )
    texts = (done.identifier, done.name, done.event or "", done.sent or "", done.refused)
    if not all(isinstance(text, str) for text in texts) or type(done.left) is not bool:
        raise ValueError("a field is of another type")
    if done.epsilon is not None and not 0 < done.epsilon < NO_LOCAL_LIMIT:
        raise ValueError("epsilon is out of range")
    return done


def _live(members: Mapping[str, Any]) -> LiveState:
    helper_key, helper_signature, issuer_key, issuer_signature = (
        base64_text.decode(members[name]) if name in members else None
        for name in ("helper_key", "helper_signature", "issuer_key", "issuer_signature")
    )
    served = ServedRecipe(
        members["recipe"],
        members["document"],
        base64_text.decode(members["signature"]),
        "open",
        helper_signature,
        issuer_signature,
    )
    verification_key = base64_text.decode(members["verification_key"])
    enrolment = Enrolment(served, verification_key, members["server"], helper_key, issuer_key)
    recipe = enrolment.verified()
    state = DeviceState(
        phase=Phase(members["phase"]),
        step=members["step"],
        ciphertexts=kept_ciphertexts(recipe, map(base64_text.decode, members["ciphertexts"])),
        nonce=base64_text.decode(members["nonce"]),
    )
    if type(state.step) is not int or not 0 <= state.step <= recipe.parameters.step_count:
        raise ValueError(f"step {state.step} is not one of {recipe.parameters.step_count}")
    collects = state.phase is Phase.COLLECTING and recipe.parameters.step_count > 0
    bound = collects and isinstance(recipe.public_key, NonceBoundKey)
    if len(state.nonce) != (REPORT_NONCE_BYTES if bound or state.phase is Phase.REPORTED else 0):
        raise ValueError("the nonce does not fit the phase")
    token = _token(recipe, members["token"]) if recipe.admission is not None else None
    if token is not None and state.nonce and state.nonce != token.report_nonce:
        raise ValueError("the nonce is not that of the token")
    return LiveState(enrolment, recipe, state, token)


_TOKEN_BYTES = ("nonce", "salt", "capsule", "secret", "token")


def _token_members(token: TokenState) -> dict[str, str]:
    return {
        "asks_at": format_time(token.asks_at),
        "factor": base64_text.encode(token.factor.to_bytes(SIGNATURE_BYTES, "big")),
        **({"seed": base64_text.encode(token.seed)} if token.seed else {}),
        **{name: base64_text.encode(getattr(token, name)) for name in _TOKEN_BYTES},
    }


def _token(recipe: PublishedRecipe, members: Mapping[str, Any]) -> TokenState:
    token = TokenState(
        asks_at=parse_time("asks_at", members["asks_at"]),
        factor=int.from_bytes(base64_text.decode(members["factor"], SIGNATURE_BYTES), "big"),
        seed=base64_text.decode(members["seed"], SEED_BYTES)
        if recipe.servers.report_signature_bytes
        else b"",
        **{name: base64_text.decode(members[name]) for name in _TOKEN_BYTES},
    )
    if token.seed and bound_nonce(token.seed) != token.nonce:
        raise ValueError("the seed is of another token")
    if token.token and token_nonce(recipe, token.token) != token.report_nonce:
        raise ValueError("the token is of another report")
    return token
