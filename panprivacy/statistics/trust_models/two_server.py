"""A leader and a helper: each gets a share of every report that alone reveals nothing (LPP section 5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.accounting.guarantees import Guarantee, Model
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES, load_public_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import S, Servers
from panprivacy.statistics.trust_models.members import (
    read_public_key,
    read_server,
    read_verification_key,
    require_signed_by,
    require_url,
)

SEALED_BYTES = 256
"""The overhead of an upload: metadata, lengths, and HPKE's key and tag for each half."""

SHARE_CONTEXT = b"dap-18"
"""Every proof of a two-server recipe is bound to these bytes, followed by its identifier (DAP 18)."""


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
    reports_elsewhere = ("recipe-of-two-servers", "The recipe is of two servers")

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

    @classmethod
    def encrypts(cls, statistic: type[Statistic[Any]]) -> bool:
        """Only what devices keep: a single value is shared, sent and forgotten immediately."""
        return statistic.device_input.takes_steps

    @classmethod
    def asked(cls, statistic: S) -> S:
        # Imported here, because a document can be read without it.
        from panprivacy.statistics.events.cohort import CohortStatistic

        return statistic.with_noisy_count() if isinstance(statistic, CohortStatistic) else statistic

    @classmethod
    def stated(cls, guarantee: Guarantee) -> Guarantee:
        adapt = _STATED.get(guarantee.model)
        return super().stated(guarantee if adapt is None else adapt(guarantee))

    def where_reports_go(self, identifier: str) -> str:  # noqa: ARG002  # one address for all recipes
        return f"Its reports are uploaded to the leader at {self.leader_url}, as messages of DAP."

    @classmethod
    def body_bytes(cls, statistic: Statistic[Any], scheme: str | None) -> int:
        """A DAP upload: a sharing for each value, or one for all; and the overhead of sealing both halves."""
        # Imported here, because devices of single-server recipes do not need it.
        from panprivacy.protocols.dap.vdafs import plain_report_bytes

        if scheme is None:
            return plain_report_bytes(statistic) + SEALED_BYTES
        return statistic.most_ciphertexts * cls.kept_bytes(scheme) + SEALED_BYTES

    @classmethod
    def kept_bytes(cls, scheme: str) -> int:
        """Of a sharing of the value: a part for each server."""
        # Imported here, because devices of single-server recipes do not need it.
        from panprivacy.protocols.encrypted_shares.part import part_bytes

        return sum(part_bytes(SCHEMES[scheme].public_key_class, side) for side in (0, 1))

    @classmethod
    def release_probability(cls, cohort_size: int, population_size: int, reporting_rate: float) -> float:
        """With the margin that is drawn beyond the cohort size."""
        # Imported here, because devices do not need it.
        from panprivacy.accounting import noisy_count

        return noisy_count.release_probability(cohort_size, population_size, reporting_rate)

    @classmethod
    def surely_enough(cls, cohort_size: int) -> int:
        """With the largest margin."""
        # Imported here, because devices do not need it.
        from panprivacy.accounting import noisy_count

        return cohort_size + 2 * noisy_count.usual_margin(cohort_size)

    @property
    def verifying_urls(self) -> tuple[str, ...]:
        return self.leader_url, self.helper_url

    @property
    def scheme(self) -> str | None:
        return None if self.leader_key_members is None else self.leader_key_members["scheme"]

    def public_key(self, identifier: str) -> PublicKey:
        # Imported here, because devices of single-server recipes do not need it.
        from panprivacy.protocols.encrypted_shares.shared_key import SharedKey

        if self.leader_key_members is None or self.helper_key_members is None:
            raise ValueError("devices of this recipe send plain shares, under no key of it")
        context = SHARE_CONTEXT + bytes.fromhex(identifier)
        ours, theirs = load_public_key(self.leader_key_members), load_public_key(self.helper_key_members)
        return SharedKey(ours, theirs, context)

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

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """The helper's signature, under the key that the device pinned: a document that names another
        helper is the leader talking to itself."""
        require_signed_by("helper", self.helper_verification_key, message, partner_key, partner_signature)


def _key_member(key_members: Mapping[str, str] | None) -> dict[str, Any]:
    return {} if key_members is None else {"public_key": dict(key_members)}


def _read_key(field: str, server: Mapping[str, object]) -> Mapping[str, str] | None:
    return read_public_key(field, server["public_key"]).to_json() if "public_key" in server else None


def _aggregator(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source=f"{guarantee.source} Besides the result, either server alone sees uniformly random shares and "
        "proofs that reveal only whether a report is valid (Prio3, VDAF draft 20).",
        assumption=f"{guarantee.assumption}, that is, on the two servers not putting their shares together, "
        "and on neither of them filling the cohort with reports of its own making",
    )


def _sampled(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        assumption=f"{guarantee.assumption}; the leader, with which devices speak, is not such a reader",
    )


def _pan(guarantee: Guarantee) -> Guarantee:
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


_STATED: Mapping[Model, Callable[[Guarantee], Guarantee]] = {
    Model.AGGREGATOR: _aggregator,
    Model.SAMPLED: _sampled,
    Model.PAN: _pan,
}
