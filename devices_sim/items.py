"""Sends the items of a stream to the curator, in batches (docs/protocol.md)."""

import http
import random
from collections.abc import Sequence

import msgpack

from devices_sim.transport import API, Transport, refusal

MSGPACK = "application/msgpack"
BATCH_ITEMS = 10_000
"""Most that a curator takes at once."""

NONCE_BYTES = 16


def send_items(
    items: Sequence[str], identifier: str, transport: Transport, random_source: random.Random
) -> int:
    """Send all items, in their order; each counts once, whatever has to be sent again.

    Args:
        identifier: of the recipe.
        transport: to the server that published it.
        random_source: draws the name of each batch.

    Returns:
        the number of batches.

    Raises:
        TransportError: the server refused a batch, or gave no answer; the batches before it count.
    """
    target = f"{API}/recipes/{identifier}/items/"
    starts = range(0, len(items), BATCH_ITEMS)
    for start in starts:
        batch = {
            "batch": random_source.randbytes(NONCE_BYTES),
            "items": list(items[start : start + BATCH_ITEMS]),
        }
        answer = transport.exchange("POST", target, body=msgpack.packb(batch), content_type=MSGPACK)
        if answer.status != http.HTTPStatus.OK:
            raise refusal(answer, target)
    return len(starts)
