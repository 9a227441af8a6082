"""What any site of Django needs of HTTP: problem documents, bodies, paging, numbers in text.

Others call `problems`, `api_problems` and `problem_errors` (RFC 9457), `refusals` (the domain's errors as
such), `failures`, `errors` and `not_found` (error answers), `plain_address` (refusing addresses that no
client sends), `htmx` (requests for a part of a page), `bodies`, `json_requests` and `strict_json` (reading
what is sent), `scopes` (what API tokens may be for), `request_counts` (how often an address sent requests),
`failed_sign_ins` (how axes counts), `bounded_logging`, `compression`, `paging`, `serializers` and
`dataclass_serializers` (bodies of the API), `openapi`, `numbers` (how figures are shown), `spreadsheets`,
`metrics` and `request_metrics`, and `static_files`. `transport` sends one request by a deadline,
`remote_site` those of commands to another site, and `probe` asks a server whether it answers; `process_group`
ends processes with each other.

It must not know any package but the mathematics, nor the purpose of a site.
"""

__all__ = [
    "api_problems",
    "bodies",
    "bounded_logging",
    "compression",
    "dataclass_serializers",
    "errors",
    "failed_sign_ins",
    "failures",
    "htmx",
    "json_requests",
    "metrics",
    "not_found",
    "numbers",
    "openapi",
    "paging",
    "plain_address",
    "probe",
    "problem_errors",
    "problems",
    "process_group",
    "refusals",
    "remote_site",
    "request_counts",
    "request_metrics",
    "scopes",
    "serializers",
    "spreadsheets",
    "static_files",
    "strict_json",
    "transport",
]
