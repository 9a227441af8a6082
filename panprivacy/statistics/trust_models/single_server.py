"""One server, which decrypts every report (LPP section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import load_public_key
from panprivacy.encryption.interface import SchemeKey
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.trust_models.interface import Servers
from panprivacy.statistics.trust_models.members import read_public_key


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
    def of(cls, public_key: SchemeKey) -> Self:
        """The server that holds the private half of `public_key`."""
        return cls(key_members=public_key.to_json())

    @property
    def scheme(self) -> str:
        return self.key_members["scheme"]

    @property
    def public_keys(self) -> tuple[SchemeKey, ...]:
        return (load_public_key(self.key_members),)

    def members(self) -> dict[str, Any]:
        return {"public_key": dict(self.key_members)}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        return cls.of(read_public_key("public_key", members.get("public_key")))
