"""The description of the report endpoints, which are plain Django views and describe nothing themselves."""

from typing import Any

from panprivacy import base64_text
from reports.parsing import BATCH_REPORTS, NONCE_BYTES
from web.bodies import JSON_TYPE, MESSAGEPACK_TYPE
from web.openapi import PROBLEM, problem_response
from web.problems import Problem

REASONS = (
    "malformed_report",
    "wrong_nonce_size",
    "wrong_ciphertext_count",
    "invalid_ciphertext",
    "duplicate_nonce",
)
"""Why a report may be rejected when it arrives; docs/protocol.md tells what each means."""

_PATH = "/api/v1/recipes/{identifier}/reports/"
_TAGS = ["v1"]
_NONCE = base64_text.encode(bytes(range(NONCE_BYTES)))
_CIPHERTEXT = base64_text.encode(b"\x02" + bytes(31) + b"\x01" + b"\x03" + bytes(31) + b"\x02")
_EXAMPLE = {"nonce": _NONCE, "ciphertexts": [_CIPHERTEXT]}


def _reference(schema: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{schema}"}


_REPORTS: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": BATCH_REPORTS,
    "description": "Each is judged by itself: a bad one never takes the others down.",
}
_SCHEMAS: dict[str, Any] = {
    "Report": {
        "type": "object",
        "properties": {
            "nonce": {
                "type": "string",
                "format": "byte",
                "description": f"{NONCE_BYTES} random bytes in base64: drawn once, kept when sent again.",
                "minLength": 24,
                "maxLength": 24,
            },
            "ciphertexts": {
                "type": "array",
                "description": "As many as the statistic sends, under the recipe's public key, in base64.",
                "items": {"type": "string", "format": "byte"},
            },
        },
        "required": ["nonce", "ciphertexts"],
        "additionalProperties": False,
    },
    "PackedReport": {
        "type": "object",
        "description": "A report in MessagePack: raw bytes (its bin type) in place of base64.",
        "properties": {
            "nonce": {"type": "string", "format": "binary", "description": f"{NONCE_BYTES} bytes."},
            "ciphertexts": {"type": "array", "items": {"type": "string", "format": "binary"}},
        },
        "required": ["nonce", "ciphertexts"],
        "additionalProperties": False,
    },
    "PackedReportBatch": {
        "type": "object",
        "properties": {"reports": _REPORTS | {"items": _reference("PackedReport")}},
        "required": ["reports"],
        "additionalProperties": False,
    },
    "ReportAccepted": {
        "type": "object",
        "properties": {"status": {"type": "string", "enum": ["accepted"]}},
        "required": ["status"],
    },
    "ReportBatch": {
        "type": "object",
        "properties": {"reports": _REPORTS | {"items": _reference("Report")}},
        "required": ["reports"],
        "additionalProperties": False,
    },
    "ReportBatchResult": {
        "type": "object",
        "properties": {
            "accepted": {"type": "integer", "minimum": 0, "description": "Number of reports taken in."},
            "rejected": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "index": {
                            "type": "integer",
                            "minimum": 0,
                            "description": "Position in the batch, from 0.",
                        },
                        "reason": {"type": "string", "enum": list(REASONS)},
                        "detail": {"type": "string"},
                    },
                    "required": ["index", "reason", "detail"],
                },
            },
        },
        "required": ["accepted", "rejected"],
    },
    "ReportProblem": {
        "allOf": [
            _reference("Problem"),
            {
                "type": "object",
                "properties": {"reason": {"type": "string", "enum": list(REASONS)}},
            },
        ],
        "description": "A problem document; `reason` says why a report was rejected.",
    },
}


def add_report_paths(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Postprocessing hook of drf-spectacular: add both report endpoints."""
    schemas = result["components"]["schemas"]
    schemas.update(_SCHEMAS, Problem=PROBLEM)
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    result["paths"][_PATH] = {"post": _single()}
    result["paths"][f"{_PATH}batch/"] = {"post": _batch()}
    return result


def _single() -> dict[str, Any]:
    return {
        "operationId": "report_submit",
        "summary": "Submit one report",
        "description": "A report that is sent again after a lost answer counts once: 409 says so.",
        "tags": _TAGS,
        "parameters": [_identifier()],
        "requestBody": {"required": True, "content": {JSON_TYPE: _content("Report", _EXAMPLE)}},
        "responses": {
            "201": _response("The report counts.", "ReportAccepted", {"status": "accepted"}),
            "400": problem_response("The body cannot be read."),
            "404": problem_response("No recipe has this identifier."),
            "409": problem_response(
                "The recipe accepts no reports now, or this report was accepted already.",
                "ReportProblem",
                _rejected(409, "A report with this nonce was accepted already.", "duplicate_nonce"),
            ),
            "413": problem_response("The body is larger than 16 MiB."),
            "415": problem_response("The body is not JSON."),
            "422": problem_response(
                "The report was rejected.",
                "ReportProblem",
                _rejected(422, f"A nonce has {NONCE_BYTES} bytes, not 12.", "wrong_nonce_size"),
            ),
        },
    }


def _batch() -> dict[str, Any]:
    batch = {"reports": [_EXAMPLE]}
    answer = {
        "accepted": 999,
        "rejected": [
            {
                "index": 17,
                "reason": "duplicate_nonce",
                "detail": "A report with this nonce was accepted already.",
            }
        ],
    }
    return {
        "operationId": "report_batch_submit",
        "summary": "Submit up to 1,000 reports",
        "description": "A rejected report never takes its batch down. Sending a batch again is safe.",
        "tags": _TAGS,
        "parameters": [_identifier()],
        "requestBody": {
            "required": True,
            "content": {
                JSON_TYPE: _content("ReportBatch", batch),
                MESSAGEPACK_TYPE: {"schema": _reference("PackedReportBatch")},
            },
        },
        "responses": {
            "200": _response(
                "Every report that is not listed as rejected counts.", "ReportBatchResult", answer
            ),
            "400": problem_response("The body cannot be read, or is not a batch."),
            "404": problem_response("No recipe has this identifier."),
            "409": problem_response("The recipe accepts no reports now."),
            "413": problem_response("The body is larger than 16 MiB."),
            "415": problem_response("The body is neither JSON nor MessagePack."),
        },
    }


def _identifier() -> dict[str, Any]:
    return {
        "in": "path",
        "name": "identifier",
        "required": True,
        "description": "Identifier of a published recipe.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }


def _content(schema: str, example: dict[str, Any]) -> dict[str, Any]:
    return {"schema": _reference(schema), "example": example}


def _response(description: str, schema: str, example: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON_TYPE: _content(schema, example)}}


def _rejected(status: int, detail: str, reason: str) -> dict[str, Any]:
    return Problem("report-rejected", "The report was rejected", status, detail, reason=reason).document()
