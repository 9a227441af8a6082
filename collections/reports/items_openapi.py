"""The description of the address for items, which is a plain Django view and describes nothing itself."""

from typing import Any

from reports.items import BATCH_ITEMS, ITEM_LENGTH, NONCE_BYTES, invalid_item
from web.bodies import JSON_TYPE, MESSAGEPACK_TYPE
from web.openapi import problem_response
from web.problems import Problem

_PATH = "/api/v1/recipes/{identifier}/items/"
_BATCH = {"batch": bytes(range(NONCE_BYTES)).hex(), "items": ["N14228", "N24211", "N14228"]}
_ITEMS: dict[str, Any] = {
    "type": "array",
    "maxItems": BATCH_ITEMS,
    "description": "In their order; one that appeared twice stands there twice. There may be none: "
    "sending by the clock hides whether something happened.",
    "items": {"type": "string", "minLength": 1, "maxLength": ITEM_LENGTH},
}
_NONCE_HELP = "drawn once for the batch, and kept when it is sent again."


def _schema(nonce: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"batch": nonce, "items": _ITEMS},
        "required": ["batch", "items"],
        "additionalProperties": False,
    }


_SCHEMAS: dict[str, Any] = {
    "ItemBatch": _schema(
        {
            "type": "string",
            "pattern": f"^[0-9a-fA-F]{{{2 * NONCE_BYTES}}}$",
            "description": f"{NONCE_BYTES} random bytes in hexadecimal: {_NONCE_HELP}",
        }
    ),
    "PackedItemBatch": _schema(
        {"type": "string", "format": "binary", "description": f"{NONCE_BYTES} random bytes: {_NONCE_HELP}"}
    ),
    "ItemBatchCounted": {
        "type": "object",
        "properties": {"status": {"type": "string", "enum": ["counted"]}},
        "required": ["status"],
    },
    "ItemProblem": {
        "allOf": [
            {"$ref": "#/components/schemas/Problem"},
            {"type": "object", "properties": {"index": {"type": "integer", "minimum": 0}}},
        ],
        "description": "A problem document; `index` says which item of the batch it is about.",
    },
}


def add_items_path(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Postprocessing hook of drf-spectacular, after that of reports: add the address for items."""
    schemas = result["components"]["schemas"]
    schemas.update(_SCHEMAS)
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    result["paths"][_PATH] = {"post": _operation()}
    return result


def _operation() -> dict[str, Any]:
    not_counted = invalid_item(17, f"must be a text of 1 to {ITEM_LENGTH} characters")
    no_items = Problem("recipe-not-open", "The recipe accepts no items now", 409, "It is closed.")
    return {
        "operationId": "items_submit",
        "summary": "Submit a batch of items",
        "description": "For recipes about a stream. The items are folded into the state at once and kept "
        "nowhere. A batch counts as a whole or not at all; one that is sent again counts once, with the same "
        "answer.",
        "tags": ["v1"],
        "parameters": [
            {
                "in": "path",
                "name": "identifier",
                "required": True,
                "description": "Identifier of a published recipe.",
                "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {
                JSON_TYPE: {"schema": {"$ref": "#/components/schemas/ItemBatch"}, "example": _BATCH},
                MESSAGEPACK_TYPE: {"schema": {"$ref": "#/components/schemas/PackedItemBatch"}},
            },
        },
        "responses": {
            "200": {
                "description": "The batch counts, now or since it came first.",
                "content": {
                    JSON_TYPE: {
                        "schema": {"$ref": "#/components/schemas/ItemBatchCounted"},
                        "example": {"status": "counted"},
                    }
                },
            },
            "400": problem_response("The body cannot be read."),
            "404": problem_response("No recipe has this identifier."),
            "409": problem_response(
                "The recipe accepts no items now, or is not about a stream.", "Problem", no_items.document()
            ),
            "413": problem_response("The body is larger than 4 MiB."),
            "415": problem_response("The body is neither JSON nor MessagePack."),
            "422": problem_response(
                "The batch or one of its items is not valid; nothing was counted.",
                "ItemProblem",
                not_counted.document(),
            ),
        },
    }
