"""From a request's body to a batch of items. What is refused is named by its place, never by its text."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import ordinal

from panprivacy.streams.item_bytes import NO_ITEM
from web.bodies import JSON_TYPE, MESSAGEPACK_TYPE
from web.messagepack import read_messagepack
from web.problems import Problem, malformed_body, unsupported_media_type
from web.strict_json import JSONRefusedError, json_of

NONCE_BYTES = 16
BATCH_ITEMS = 10_000
BODY_BYTES = 4 * 1024 * 1024
BATCH_CONTAINERS = 2
"""The object, and the list of its items."""

JSON_BRACKETS = 10 * BATCH_ITEMS
"""Most of them in a body of JSON. A batch has one object and one list; the others may stand in items."""


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


def read_items(body: bytes, media_type: str) -> ItemsBatch:
    """The batch in a body.

    Raises:
        Problem: an unsupported media type, not a body of that type, or not a batch.
    """
    if media_type not in _READERS:
        raise unsupported_media_type(f"Content-Type must be {' or '.join(_READERS)}.")
    try:
        content = _READERS[media_type](body)
    except JSONRefusedError as error:
        raise _refused_json(error) from None
    # RecursionError: brackets nested deeper than the parser's stack.
    except (ValueError, RecursionError) as error:
        raise malformed_body(f"Not valid {media_type}: {type(error).__name__}.") from None
    if not isinstance(content, Mapping) or set(content) != {"batch", "items"}:
        raise malformed_body(_TWO_MEMBERS)
    items = content["items"]
    if not isinstance(items, list):
        raise _invalid("items", "must be a list of texts.")
    if len(items) > BATCH_ITEMS:
        raise _invalid("items", f"must have at most {BATCH_ITEMS:,} members, not {len(items):,}.")
    nonce = content["batch"]
    if not isinstance(nonce, bytes) or len(nonce) != NONCE_BYTES:
        raise _invalid(
            "batch", f"must be {NONCE_BYTES} random bytes; in JSON {2 * NONCE_BYTES} hexadecimal digits."
        )
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise invalid_item(index, NO_ITEM)
    return ItemsBatch(nonce, items)


def _read_json(body: bytes) -> object:
    # Bounded before they are built: an empty list takes a byte in the body and a hundred in memory.
    if body.count(b"[") + body.count(b"{") > JSON_BRACKETS:
        raise malformed_body("Not a batch of items: too many objects and lists.")
    content = json_of(body)
    if isinstance(content, dict) and isinstance(content.get("batch"), str):
        content["batch"] = _from_hexadecimal(content["batch"])
    return content


def _refused_json(error: JSONRefusedError) -> Problem:
    if error.repeated is None:
        return malformed_body(f"Not valid {JSON_TYPE}: {error}.")
    if error.repeated in {"batch", "items"}:
        return _invalid(error.repeated, "appears more than once.")
    # Other names are not shown: they may be items.
    return malformed_body(_TWO_MEMBERS)


def _from_hexadecimal(text: str) -> bytes | None:
    # bytes.fromhex would take spaces as well, and one batch have several names.
    if len(text) != 2 * NONCE_BYTES or not text.isascii() or not text.isalnum():
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _read_messagepack(body: bytes) -> object:
    # One more than there may be, so that its number is what is refused.
    return read_messagepack(body, containers=BATCH_CONTAINERS, members=BATCH_ITEMS + 1, text_bytes=BODY_BYTES)


def _invalid(field: str, detail: str) -> Problem:
    return Problem("invalid-batch", "The batch is not valid", 422, f"{field} {detail}", field=field)


_TWO_MEMBERS = 'The body must be an object with two members, "batch" and "items".'

_READERS = {JSON_TYPE: _read_json, MESSAGEPACK_TYPE: _read_messagepack}
