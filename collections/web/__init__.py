"""What any site of Django needs of HTTP: problem documents, bodies, MessagePack, paging, numbers in text.

Others call `problems`, `api_problems` and `problem_errors` (RFC 9457), `refusing` (the domain's errors as
such), `failures`, `errors` and `missing` (answers to what went wrong), `plain_address` (refusing what nobody
sends), `htmx` (requests for a part of a page), `bodies`, `json_requests`, `strict_json` and `messagepack`
(reading what is sent), `scopes` (what API tokens may be for), `askers` (how often an address asked),
`failed_sign_ins` (how axes counts), `turns` (how many requests compute at once), `bounded_logging`,
`compression`, `paging`, `openapi`, `numbers` (how figures are shown) and `spreadsheets`.

It must not know any room but the mathematics, nor what a site is about.
"""

__all__ = [
    "api_problems",
    "askers",
    "bodies",
    "bounded_logging",
    "compression",
    "errors",
    "failed_sign_ins",
    "failures",
    "htmx",
    "json_requests",
    "messagepack",
    "missing",
    "numbers",
    "openapi",
    "paging",
    "plain_address",
    "problem_errors",
    "problems",
    "refusing",
    "scopes",
    "spreadsheets",
    "strict_json",
    "turns",
]
