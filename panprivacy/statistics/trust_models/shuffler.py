"""A shuffler mixes the messages of a whole cohort unread; an analyzer decrypts them (RSP section 2.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import load_public_key
from panprivacy.encryption.interface import SchemeKey
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.trust_models.interface import Servers
from panprivacy.statistics.trust_models.members import (
    read_public_key,
    read_server,
    read_verification_key,
    require_url,
)


@dataclass(frozen=True, kw_only=True)
class ShufflerAndAnalyzer(
    Servers,
    trust=Trust.SHUFFLER,
    member_names=("shuffler", "analyzer"),
    device_inputs=(DeviceInput.VALUE,),
):
    """An analyzer, which publishes the recipe and holds its private key, behind a shuffler, which signs too.

    Attributes:
        shuffler_url: base address to which devices send, without a trailing slash.
        shuffler_verification_key: the shuffler's Ed25519 key, 32 bytes.
        analyzer_key_members: the public key under which messages are encrypted.
    """

    shuffler_url: str
    shuffler_verification_key: bytes
    analyzer_key_members: Mapping[str, str]

    upload_refusal = ("recipe-of-a-shuffler", "The recipe is of a shuffler")

    def __post_init__(self) -> None:
        require_url("shuffler.url", self.shuffler_url)
        if len(self.shuffler_verification_key) != 32:
            raise FieldError("shuffler.verification_key", "must be 32 bytes")

    @property
    def upload_sentence(self) -> str:
        return f"Its messages are sent to the shuffler at {self.shuffler_url}."

    @property
    def verifying_urls(self) -> tuple[str, ...]:
        return (self.shuffler_url,)

    @property
    def scheme(self) -> str:
        return self.analyzer_key_members["scheme"]

    @property
    def partner(self) -> tuple[str, bytes]:
        return "shuffler", self.shuffler_verification_key

    @property
    def public_keys(self) -> tuple[SchemeKey, ...]:
        return (load_public_key(self.analyzer_key_members),)

    def members(self) -> dict[str, Any]:
        return {
            "shuffler": {
                "url": self.shuffler_url,
                "verification_key": base64_text.encode(self.shuffler_verification_key),
            },
            "analyzer": {"public_key": dict(self.analyzer_key_members)},
        }

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        shuffler = read_server("shuffler", members.get("shuffler"), ("url", "verification_key"))
        analyzer = read_server("analyzer", members.get("analyzer"), ("public_key",))
        return cls(
            shuffler_url=require_url("shuffler.url", shuffler["url"]),
            shuffler_verification_key=read_verification_key(
                "shuffler.verification_key", shuffler["verification_key"]
            ),
            analyzer_key_members=read_public_key("analyzer.public_key", analyzer["public_key"]).to_json(),
        )
