"""The number of reports that a release publishes, signed by every server of its recipe."""

from collections.abc import Sequence

from panprivacy.formats import base64_text
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.signed_count import CountRefusedError, ReleasedCount
from results.outcomes import ServerProgress
from storage.signing_key import signing_key


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
