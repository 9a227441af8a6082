"""What is shown of the servers of a recipe, the same to all readers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from panprivacy.formats import base64_text
from panprivacy.formats.rounded_counts import rounded_rejections
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.signed_count import CountRefusedError, ReleasedCount
from results.models import Release
from results.outcomes import Progress, ServerProgress
from storage.signing_key import signing_key


@dataclass(frozen=True)
class ServerShown:
    """One server, with what the reader may know of it.

    Attributes:
        name, url: as of `ServerProgress`.
        counted: reports in its sum; None if that is not shown.
        rejected: reason → reports that it rejected.
        signature: its Ed25519 signature, in base64, of the number of reports that is published; None if it
            has not signed, or nothing was released.
    """

    name: str
    url: str
    counted: int | None
    rejected: Mapping[str, int]
    signature: str | None = None

    def rounded(self, cohort_size: int) -> "ServerShown":
        """The same as shown for an open recipe, and below the cohort size: no count, and rejections in coarse
        steps.

        Otherwise the number of valid reports would reveal something about the plaintext to the senders of
        crafted reports.
        """
        return ServerShown(self.name, self.url, None, rounded_rejections(dict(self.rejected), cohort_size))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def servers_of(progress: Progress) -> list[ServerShown]:
    """The servers with what is public of them."""
    return [
        ServerShown(server.name, server.url, server.counted, dict(sorted(server.public_rejections.items())))
        for server in progress.servers
    ]


def counts_differ(servers: Sequence[ServerShown]) -> bool:
    """Whether servers report different numbers of reports in their sums."""
    return len({server.counted for server in servers if server.counted is not None}) > 1


def stated_servers(release: Release) -> list[ServerShown]:
    """The servers as in a release."""
    if release.servers is None:  # its recipe could not be read
        return [ServerShown("Server", "", release.reports, release.rejected)]
    return [ServerShown(**members) for members in release.servers]


class CountDisputedError(ValueError):
    """A server signed something else than what is to be published; the message is a clause."""


def signatures_of(count: ReleasedCount, servers: Sequence[ServerProgress]) -> list[str | None]:
    """The signature of each server, in base64, ours among them; None of one that has not signed.

    Raises:
        CountDisputedError: one does not hold under the key that the recipe's document names.
    """
    return [_signature(count, server) for server in servers]


def _signature(count: ReleasedCount, server: ServerProgress) -> str | None:
    if server.verification_key is None:
        return base64_text.encode(count.sign(signing_key()))
    if server.count_signature is None:
        return None
    try:
        count.verify(server.count_signature, public_key_of(server.verification_key))
    except CountRefusedError:
        raise CountDisputedError(
            f"the {server.name.lower()} did not sign the number of reports that the sum is of"
        ) from None
    return base64_text.encode(server.count_signature)
