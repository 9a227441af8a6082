"""One server, which decrypts every report (LPP section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES, load_public_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats import base64_text
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import Servers
from panprivacy.statistics.trust_models.members import read_public_key, required_scheme


@dataclass(frozen=True, kw_only=True)
class OneServer(
    Servers,
    trust=Trust.SINGLE_SERVER,
    member_names=("public_key",),
    device_inputs=(DeviceInput.EVENTS, DeviceInput.RANDOMIZED),
):
    """One server, which publishes the recipe and holds its private key."""

    key_members: Mapping[str, str]

    @classmethod
    def of(cls, public_key: PublicKey) -> Self:
        """The server that holds the private half of `public_key`."""
        return cls(key_members=public_key.to_json())

    @classmethod
    def body_bytes(cls, statistic: Statistic[Any], scheme: str | None) -> int:
        """In JSON: each ciphertext in base64, with quotes, a comma and a space."""
        size = SCHEMES[required_scheme(scheme)].public_key_class.ciphertext_bytes
        return statistic.most_ciphertexts * (base64_text.encoded_length(size) + 4)

    @property
    def scheme(self) -> str:
        return self.key_members["scheme"]

    def public_key(self, identifier: str) -> PublicKey:  # noqa: ARG002  # for shares
        return load_public_key(self.key_members)

    def members(self) -> dict[str, Any]:
        return {"public_key": dict(self.key_members)}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        return cls.of(read_public_key("public_key", members.get("public_key")))

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """Nothing to check: its only server is the one that published the recipe."""
