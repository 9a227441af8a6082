"""From a request's body to a batch of items. What is refused is named by its place, never by its text."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import ordinal

from panprivacy.statistics.streams.item_bytes import NO_ITEM
from web.bodies import JSON_TYPE
from web.problems import Problem, malformed_body
from web.strict_json import JSONRefusedError, json_of

BATCH_NAME_BYTES = 16
BATCH_ITEMS = 10_000
BODY_BYTES = 4 * 1024 * 1024
BRACKETS = 10 * BATCH_ITEMS
"""Most of them in a body. A batch has one object and one list; the others may be in items."""


@dataclass(frozen=True)
class ItemsBatch:
    """Items that are folded in together.

    Attributes:
        nonce: 16 bytes, drawn once for the batch.
        items: in their order.
    """

    nonce: bytes
    items: list[str]


def invalid_item(index: int, detail: str) -> Problem:
    """An item of the batch that cannot be one."""
    return Problem(
        "invalid-item",
        "An item is not valid",
        422,
        f"Item at index {index} (the {ordinal(index + 1)}) of the batch {detail}; nothing of the batch was "
        "counted.",
        field="items",
        index=index,
    )


def read_items(body: bytes) -> ItemsBatch:
    """The batch in a body.

    Raises:
        Problem: it is not JSON, or not a batch.
    """
    # Bounded before they are built: an empty list takes a byte in the body and a hundred in memory.
    if body.count(b"[") + body.count(b"{") > BRACKETS:
        raise malformed_body("Not a batch of items: too many objects and lists.")
    try:
        content = json_of(body)
    except JSONRefusedError as error:
        raise _refused_json(error) from None
    if not isinstance(content, Mapping) or set(content) != {"batch", "items"}:
        raise malformed_body(_TWO_FIELDS)
    items = content["items"]
    if not isinstance(items, list):
        raise _invalid("items", "must be a list of texts.")
    if len(items) > BATCH_ITEMS:
        raise _invalid("items", f"must have at most {BATCH_ITEMS:,} items, not {len(items):,}.")
    nonce = _from_hexadecimal(content["batch"])
    if nonce is None:
        raise _invalid(
            "batch", f"must be {BATCH_NAME_BYTES} random bytes: {2 * BATCH_NAME_BYTES} hexadecimal digits."
        )
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise invalid_item(index, NO_ITEM)
    return ItemsBatch(nonce, items)


def _refused_json(error: JSONRefusedError) -> Problem:
    if error.repeated is None:
        return malformed_body(f"Not valid {JSON_TYPE}: {error}.")
    if error.repeated in {"batch", "items"}:
        return _invalid(error.repeated, "appears more than once.")
    # Other names are not shown: they may be items.
    return malformed_body(_TWO_FIELDS)


def _from_hexadecimal(text: object) -> bytes | None:
    # bytes.fromhex would take spaces as well, and one batch have several names.
    if (
        not isinstance(text, str)
        or len(text) != 2 * BATCH_NAME_BYTES
        or not text.isascii()
        or not text.isalnum()
    ):
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _invalid(field: str, detail: str) -> Problem:
    return Problem("invalid-batch", "The batch is not valid", 422, f"{field} {detail}", field=field)


_TWO_FIELDS = 'The body must be an object with two fields, "batch" and "items".'
