"""Two servers with half a key each: they decrypt a sum of encrypted bits, and no report.

LPP section 5.1, last paragraph. Experimental: its proof of security has had no outside review.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self

from panprivacy.accounting.guarantees import Guarantee, Model
from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats import base64_text
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import ReportFormat, Servers
from panprivacy.statistics.trust_models.members import (
    RecipeVerificationError,
    read_server,
    read_verification_key,
    require_url,
)
from panprivacy.statistics.trust_models.two_server import sampled_amended

if TYPE_CHECKING:
    # Loaded when it is used: recipes of other trust models do not need the curve's library.
    from panprivacy.protocols.joint_key.keys import KeyHalf, StringHalf
    from panprivacy.protocols.joint_key.public_key import JointPublicKey

STATISTICS = ("count_nonzero",)
"""Those whose report is one bit; each further one is a name here."""

ENCODED_BYTES = 864
"""Of an encrypted bit with its proof (`panprivacy.protocols.joint_key.proven_bits`)."""

ROLES = ("leader", "helper")

KEY_BYTES, STRING_BYTES = 272, 416


def library_missing() -> str:
    """Why nothing can be computed with joint keys here, as a clause; empty if it can."""
    if find_spec("py_arkworks_bls12381") is not None:
        return ""
    return "py-arkworks-bls12381 is not installed: install panprivacy[joint-key]"


def _aggregator_amended(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source=f"{guarantee.source} Besides the result, either server alone and everyone with the published "
        "reports see encryptions under a key that no one server holds (docs/joint-key.md; computational, "
        "SXDH on BLS12-381, not post-quantum).",
        assumption=f"{guarantee.assumption}, that is, on the two servers not decrypting reports together, "
        "and on neither of them filling the cohort with reports of its own making",
    )


def _pan_amended(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source="LPP section 5.1, last paragraph, with Groth–Sahai proofs that are rerandomized "
        "(docs/joint-key.md; experimental: no outside review); computational: SXDH on BLS12-381, "
        "not post-quantum.",
        assumption=(
            "the intruder colluding with at most one of the two servers, not watching the device during a "
            "step, and not also sending reports made from what is on the device (each needs a token of its "
            "own)"
        ),
    )


class _ProvenBits(ReportFormat):
    """Of an encrypted bit with its proof, in JSON."""

    def body_bytes(self, statistic: Statistic[Any], scheme: str | None) -> int:  # noqa: ARG002  # there is one
        return statistic.most_ciphertexts * (base64_text.encoded_length(ENCODED_BYTES) + 4)

    def kept_bytes(self, scheme: str) -> int:  # noqa: ARG002  # there is one
        return ENCODED_BYTES


@dataclass(frozen=True, kw_only=True)
class JointKeyServers(
    Servers, trust=Trust.JOINT_KEY, member_names=ROLES, device_inputs=(DeviceInput.EVENTS,)
):
    """A leader, which publishes the recipe, and a helper, which signs it too.

    Attributes:
        helper_url: base address of the helper, without a trailing slash.
        helper_verification_key: the helper's Ed25519 key, 32 bytes.
        keys: each server's half of the key, encoded (`KeyHalf`), the leader's first.
        strings: each server's half of the common strings, encoded (`StringHalf`), likewise.
    """

    helper_url: str
    helper_verification_key: bytes
    keys: tuple[bytes, bytes]
    strings: tuple[bytes, bytes]

    report_format = _ProvenBits()
    proves_reports = True
    has_segments = False
    # The helper checks a recipe, and no document of rounds.
    has_rounds = False
    admits_by_token = True
    report_signature_bytes = 64
    publishes_reports = True
    # The curve is fixed: a recipe names no scheme.
    plain_inputs = (DeviceInput.EVENTS,)
    scheme = None
    public_keys = ()
    amendments: ClassVar = {
        Model.AGGREGATOR: _aggregator_amended,
        Model.SAMPLED: sampled_amended,
        Model.PAN: _pan_amended,
    }

    def __post_init__(self) -> None:
        require_url("helper.url", self.helper_url)
        if len(self.helper_verification_key) != 32:
            raise FieldError("helper.verification_key", "must be 32 bytes")
        if self.keys[0] == self.keys[1]:
            raise FieldError("helper.key", "must differ from the leader's: one server is not two")

    @classmethod
    def blank(cls, helper_url: str, helper_verification_key: bytes) -> Self:
        """Servers with placeholders for their halves, never published: halves are bound to the document
        without them (`document_context`), so that this one is made first.

        Args:
            helper_verification_key: Ed25519, 32 bytes.
        """
        return cls(
            helper_url=helper_url,
            helper_verification_key=helper_verification_key,
            keys=(bytes(KEY_BYTES), bytes([1] * KEY_BYTES)),
            strings=(bytes(STRING_BYTES), bytes(STRING_BYTES)),
        )

    @classmethod
    def refusal(cls, statistic: type[Statistic[Any]]) -> str:
        if statistic.statistic not in STATISTICS:
            return f"only {' and '.join(STATISTICS)} can be asked with a joint key yet"
        return super().refusal(statistic)

    @property
    def verifying_urls(self) -> tuple[str, ...]:
        return (self.helper_url,)

    @property
    def partner(self) -> tuple[str, bytes]:
        return "helper", self.helper_verification_key

    @cached_property
    def halves(self) -> "tuple[tuple[KeyHalf, KeyHalf], tuple[StringHalf, StringHalf]]":
        """The halves of the key, and those of the strings; FieldError if they are none, or if the curve's
        library is missing. Their proofs are checked by `require_made`."""
        if missing := library_missing():
            raise FieldError("trust", f"cannot be joint_key here: {missing}")
        from panprivacy.protocols.joint_key.groups import InvalidPointError
        from panprivacy.protocols.joint_key.keys import KeyHalf, StringHalf

        field = "leader.key"
        try:
            first = KeyHalf.decode(self.keys[0])
            field = "helper.key"
            second = KeyHalf.decode(self.keys[1])
            field = "leader.string"
            third = StringHalf.decode(self.strings[0])
            field = "helper.string"
            fourth = StringHalf.decode(self.strings[1])
        except InvalidPointError as error:
            raise FieldError(field, str(error)) from None
        return (first, second), (third, fourth)

    @cached_property
    def joint_public_key(self) -> "JointPublicKey":
        """The key under which devices encrypt; FieldError as of `halves`."""
        from panprivacy.protocols.joint_key.keys import JointKey
        from panprivacy.protocols.joint_key.public_key import JointPublicKey

        return JointPublicKey(JointKey.of(*self.halves))

    def device_key(self, identifier: str) -> PublicKey:  # noqa: ARG002  # each recipe has a key of its own
        return self.joint_public_key

    def require_made(self, document: Mapping[str, Any]) -> None:
        """The proofs of all halves, bound to the document without them.

        Raises:
            RecipeVerificationError: one does not hold.
            FieldError: as of `halves`.
        """
        from panprivacy.protocols.joint_key.keys import ProofRefusedError, key_bases

        keys, strings = self.halves
        u1, v1 = key_bases(keys)
        bound = document_context(document)
        for role, key, string in zip(ROLES, keys, strings, strict=True):
            context = role_context(bound, role)
            try:
                key.require_proved(context)
                string.require_proved(context, u1, v1)
            except ProofRefusedError as error:
                raise RecipeVerificationError(f"the {role}'s half of the joint key: {error}") from error

    def members(self) -> dict[str, Any]:
        leader, helper = (
            {"key": base64_text.encode(key), "string": base64_text.encode(string)}
            for key, string in zip(self.keys, self.strings, strict=True)
        )
        named = {
            "url": self.helper_url,
            "verification_key": base64_text.encode(self.helper_verification_key),
        }
        return {"leader": leader, "helper": {**named, **helper}}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        leader = read_server("leader", members.get("leader"), ("key", "string"))
        helper = read_server("helper", members.get("helper"), ("url", "verification_key", "key", "string"))
        return cls(
            helper_url=require_url("helper.url", helper["url"]),
            helper_verification_key=read_verification_key(
                "helper.verification_key", helper["verification_key"]
            ),
            keys=(_read("leader.key", leader["key"]), _read("helper.key", helper["key"])),
            strings=(
                _read("leader.string", leader["string"], STRING_BYTES),
                _read("helper.string", helper["string"], STRING_BYTES),
            ),
        )


def document_context(document: Mapping[str, Any]) -> bytes:
    """What the halves of a recipe's key are made for: SHA-256 of its document without them, 32 bytes."""
    members = dict(document)
    for role in ROLES:
        named = members.get(role)
        kept = named if isinstance(named, Mapping) else {}
        members[role] = {name: value for name, value in kept.items() if name not in ("key", "string")}
    return hashlib.sha256(canonical_json(members)).digest()


def role_context(context: bytes, role: str) -> bytes:
    """To which the proofs of a server's half are bound.

    Args:
        context: by `document_context`.
        role: `leader` or `helper`.
    """
    return b"panapp-joint-key-1\n" + context + role.encode() + b"\n"


def _read(field: str, value: object, size: int = KEY_BYTES) -> bytes:
    try:
        decoded = base64_text.decode(value, size)
    except base64_text.Base64Error as error:
        raise FieldError(field, str(error)) from None
    # One spelling, or equal recipes would have different identifiers.
    if base64_text.encode(decoded) != value:
        raise FieldError(field, f"must be {size} bytes in base64")
    return decoded
