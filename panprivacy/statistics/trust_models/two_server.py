"""A leader and a helper: each gets a share of every report that alone reveals nothing (LPP section 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from panprivacy.accounting.guarantees import Guarantee, Model
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES, load_public_key
from panprivacy.encryption.interface import PublicKey, SchemeKey
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import ReportFormat, Servers
from panprivacy.statistics.trust_models.members import (
    read_public_key,
    read_server,
    read_verification_key,
    require_url,
)

SHARE_CONTEXT = b"dap-18"
"""Every proof of a two-server recipe is bound to these bytes, followed by its identifier (DAP 18)."""

SEALED_BYTES = 256
"""The overhead of an upload: metadata, lengths, and HPKE's key of X25519 and tag for each half."""


def _aggregator_amended(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source=f"{guarantee.source} Besides the result, either server alone sees uniformly random shares and "
        "proofs that reveal only whether a report is valid (Prio3, VDAF draft 20).",
        assumption=f"{guarantee.assumption}, that is, on the two servers not putting their shares together, "
        "and on neither of them filling the cohort with reports of its own making",
    )


def sampled_amended(guarantee: Guarantee) -> Guarantee:
    """Of readers who do not see who takes part: the leader sees who speaks with it."""
    return replace(
        guarantee,
        assumption=f"{guarantee.assumption}; the leader, with which devices speak, is not such a reader",
    )


def _pan_amended(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source="LPP section 5, Algorithm 6; computational: up to an advantage that is negligible in the "
        "keys' length.",
        assumption=(
            "the semantic security of the recipe's encryption scheme, on the intruder colluding with neither "
            "server (with one, two readings of the device, or one and its report, reveal whether the event "
            "happened in between), not watching the device during a step, and not also "
            "sending reports made from what is on the device"
        ),
    )


class _SharedReports(ReportFormat):
    """Of shares in messages of DAP."""

    def body_bytes(self, statistic: Statistic[Any], scheme: str | None) -> int:
        """A DAP upload: a sharing for each value, or one for all; and the overhead of sealing both halves."""
        # Imported here, because devices of single-server recipes do not need it.
        from panprivacy.protocols.dap.vdafs import plain_report_bytes

        if scheme is None:
            return plain_report_bytes(statistic) + SEALED_BYTES
        return statistic.most_ciphertexts * self.kept_bytes(scheme) + SEALED_BYTES

    def kept_bytes(self, scheme: str) -> int:
        """Of a sharing of the value: a part for each server."""
        # Imported here, because devices of single-server recipes do not need it.
        from panprivacy.protocols.encrypted_shares.configuration import part_bytes

        return sum(part_bytes(SCHEMES[scheme].public_key_class, side) for side in (0, 1))


@dataclass(frozen=True, kw_only=True)
class TwoServers(
    Servers,
    trust=Trust.TWO_SERVER,
    member_names=("leader", "helper"),
    device_inputs=(DeviceInput.EVENTS, DeviceInput.RANDOMIZED),
):
    """A leader, which publishes the recipe, and a helper, which signs it too.

    Attributes:
        leader_url, helper_url: base addresses of their DAP resources, without a trailing slash.
        leader_key_members, helper_key_members: public keys, of one scheme, under which shares are encrypted
            on devices that keep them; None if devices keep nothing, and send plain shares.
        helper_verification_key: the helper's Ed25519 key, 32 bytes.
    """

    leader_url: str
    leader_key_members: Mapping[str, str] | None
    helper_url: str
    helper_key_members: Mapping[str, str] | None
    helper_verification_key: bytes

    proves_reports = True
    report_format = _SharedReports()
    sealed_shares = 2
    noisy_count = True
    # A single value is shared, sent and forgotten immediately: only what devices keep is encrypted.
    plain_inputs = (DeviceInput.RANDOMIZED,)
    amendments: ClassVar = {
        Model.AGGREGATOR: _aggregator_amended,
        Model.SAMPLED: sampled_amended,
        Model.PAN: _pan_amended,
    }
    upload_refusal = ("recipe-of-two-servers", "The recipe is of two servers")

    def __post_init__(self) -> None:
        require_url("leader.url", self.leader_url)
        require_url("helper.url", self.helper_url)
        if self.leader_url == self.helper_url:
            raise FieldError("helper.url", "must differ from the leader's: one server is not two")
        self._require_two_keys()
        if len(self.helper_verification_key) != 32:
            raise FieldError("helper.verification_key", "must be 32 bytes")

    def _require_two_keys(self) -> None:
        ours, theirs = self.leader_key_members, self.helper_key_members
        if ours is None and theirs is None:
            return
        if ours is None or theirs is None:
            raise FieldError("helper.public_key", "must be there if the leader has one, and only then")
        if ours == theirs:
            raise FieldError("helper.public_key", "must differ from the leader's: one key opens both shares")
        if ours["scheme"] != theirs["scheme"]:
            raise FieldError("helper.public_key", "must be of the leader's scheme")

    @property
    def upload_sentence(self) -> str:
        return f"Its reports are uploaded to the leader at {self.leader_url}, as messages of DAP."

    @property
    def verifying_urls(self) -> tuple[str, ...]:
        return self.leader_url, self.helper_url

    @property
    def scheme(self) -> str | None:
        return None if self.leader_key_members is None else self.leader_key_members["scheme"]

    @property
    def partner(self) -> tuple[str, bytes]:
        return "helper", self.helper_verification_key

    @property
    def public_keys(self) -> tuple[()] | tuple[SchemeKey, SchemeKey]:
        if self.leader_key_members is None or self.helper_key_members is None:
            return ()
        return load_public_key(self.leader_key_members), load_public_key(self.helper_key_members)

    def device_key(self, identifier: str) -> PublicKey | None:
        """Of both servers, bound to the recipe: each ciphertext is a sharing."""
        if not self.public_keys:
            return None
        # Imported here, because devices of single-server recipes do not need it.
        from panprivacy.protocols.encrypted_shares.shared_key import SharedKey

        leader, helper = self.public_keys
        return SharedKey(leader, helper, SHARE_CONTEXT + bytes.fromhex(identifier))

    def members(self) -> dict[str, Any]:
        return {
            "leader": {"url": self.leader_url, **_key_member(self.leader_key_members)},
            "helper": {
                "url": self.helper_url,
                **_key_member(self.helper_key_members),
                "verification_key": base64_text.encode(self.helper_verification_key),
            },
        }

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        stated = members.get("leader")
        keys = ("public_key",) if isinstance(stated, Mapping) and "public_key" in stated else ()
        leader = read_server("leader", stated, ("url", *keys))
        helper = read_server("helper", members.get("helper"), ("url", *keys, "verification_key"))
        return cls(
            leader_url=require_url("leader.url", leader["url"]),
            leader_key_members=_read_key("leader.public_key", leader),
            helper_url=require_url("helper.url", helper["url"]),
            helper_key_members=_read_key("helper.public_key", helper),
            helper_verification_key=read_verification_key(
                "helper.verification_key", helper["verification_key"]
            ),
        )


def _key_member(key_members: Mapping[str, str] | None) -> dict[str, Any]:
    return {} if key_members is None else {"public_key": dict(key_members)}


def _read_key(field: str, server: Mapping[str, object]) -> Mapping[str, str] | None:
    return read_public_key(field, server["public_key"]).to_json() if "public_key" in server else None
