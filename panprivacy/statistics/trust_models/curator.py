"""A curator sees every item of a stream, and keeps only a pan-private state of it (PPS section 2)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.trust_models.interface import Servers
from panprivacy.statistics.trust_models.members import read_server

DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Curator(Servers, trust=Trust.CURATOR, member_names=("curator",), device_inputs=(DeviceInput.ITEMS,)):
    """One server, which sees each item on arrival and keeps a pan-private state. There is no key: the
    connection protects items in transit.

    Attributes:
        sample_digest: SHA-256 of the sample of items that have a cell, 32 bytes. It binds the curator to a
            sample drawn before any item came. The sample holds a random key, so its digest reveals nothing.
    """

    sample_digest: bytes

    lists = ("universe",)
    plain_inputs = (DeviceInput.ITEMS,)
    report_format = None
    scheme = None
    public_keys = ()

    def __post_init__(self) -> None:
        if len(self.sample_digest) != 32:
            raise FieldError("curator.sample_digest", "must be 32 bytes")

    def members(self) -> dict[str, Any]:
        return {"curator": {"sample_digest": self.sample_digest.hex()}}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        curator = read_server("curator", members.get("curator"), ("sample_digest",))
        digest = curator["sample_digest"]
        if not isinstance(digest, str) or not DIGEST_PATTERN.fullmatch(digest):
            raise FieldError("curator.sample_digest", "must be 64 lower-case hexadecimal digits")
        return cls(sample_digest=bytes.fromhex(digest))
