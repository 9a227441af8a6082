"""Sends the items of a stream to the curator, in batches (docs/protocol.md)."""

import http
import json
import random
from collections.abc import Sequence

from panprivacy.device.transport import API, JSON, Transport, refusal

BATCH_ITEMS = 10_000
"""Most that a curator takes at once."""

BATCH_NAME_BYTES = 16
"""Length of the random name of a batch."""


def send_items(
    items: Sequence[str], identifier: str, transport: Transport, random_source: random.Random
) -> int:
    """Send all items, in their order; each counts once, even if it is sent again.

    Args:
        identifier: of the recipe.
        transport: to the server that published it.
        random_source: draws the name of each batch.

    Returns:
        the number of batches.

    Raises:
        TransportError: the server refused a batch, or gave no answer; the preceding batches count.
    """
    target = f"{API}/recipes/{identifier}/items/"
    starts = range(0, len(items), BATCH_ITEMS)
    for start in starts:
        batch = {
            "batch": random_source.randbytes(BATCH_NAME_BYTES).hex(),
            "items": list(items[start : start + BATCH_ITEMS]),
        }
        body = json.dumps(batch, ensure_ascii=False).encode()
        answer = transport.exchange("POST", target, body=body, content_type=JSON)
        if answer.status != http.HTTPStatus.OK:
            raise refusal(answer, target)
    return len(starts)
