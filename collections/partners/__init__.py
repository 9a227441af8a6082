"""Between installations: signed requests and answers, partners, roles, status.

Others call `client` to ask, `failed_requests` to ask again, `signed_views` and `json_bodies` to answer,
`helper_calls`, `shuffler_calls` and `issuer_calls` for the requests that have names, `partner` and `roles`
for the other server, `required_settings` for settings that only some roles have, `recipe_document`,
`request_ids`, `server_status` and `problems` for errors.

It must not know what a server does with a request, nor the package `dap`.
"""

__all__ = [
    "client",
    "failed_requests",
    "helper_calls",
    "issuer_calls",
    "json_bodies",
    "partner",
    "problems",
    "recipe_document",
    "request_ids",
    "required_settings",
    "roles",
    "server_status",
    "shuffler_calls",
    "signed_views",
]
