"""How the API's description speaks of errors."""

from typing import Any

from web.problems import CONTENT_TYPE

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "A problem document (RFC 9457).",
    "properties": {
        "type": {"type": "string", "description": "Kind of problem, e.g. `/problems/not-found`."},
        "title": {"type": "string", "description": "The same for every problem of this kind."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What is wrong with this request."},
        "field": {"type": "string", "description": "The parameter that is to blame, where one is."},
    },
    "required": ["type", "title", "status", "detail"],
}


def problem_response(
    description: str, schema: str = "Problem", example: dict[str, Any] | None = None
) -> dict[str, Any]:
    """One response of an operation: a problem document of the component `schema`."""
    content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{schema}"}}
    if example is not None:
        content["example"] = example
    return {"description": description, "content": {CONTENT_TYPE: content}}


def add_problem_responses(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Postprocessing hook of drf-spectacular: every operation may answer with a problem document."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"].setdefault("4XX", problem_response("The request was refused."))
    return result
