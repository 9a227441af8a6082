"""What any site of Django needs of HTTP: problem documents, bodies, MessagePack, paging, numbers in text.

Others call `problems` and `problem_errors` (RFC 9457), `failures` and `errors` (answers to what went wrong),
`bodies` and `messagepack` (reading what is sent), `paging`, `openapi`, and `numbers` (how figures are shown).

It must not know recipes, reports, or any other room.
"""

__all__ = [
    "bodies",
    "errors",
    "failures",
    "htmx",
    "messagepack",
    "numbers",
    "openapi",
    "paging",
    "plain_query",
    "problem_errors",
    "problems",
]
