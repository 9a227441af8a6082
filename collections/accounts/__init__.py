"""Accounts, for programs of administrators: list, make, switch off, put into groups.

Others may call `operations`. `api` is the REST API, and `scopes` lists what its tokens may be used for.
`log.audit` records all changes by itself. Administrators, others' passwords and second factors are changed on
pages only.

It must not know what a group allows, nor what an account did.
"""

__all__ = ["operations", "scopes"]
