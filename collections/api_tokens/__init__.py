"""API tokens: how programs say for which account they act, and what for.

The settings name `authentication` and `permissions` for every view of the REST API; views say which scope
they need (`web.scopes`). Others call `operations` (create, revoke) and `selectors`, and read `models`.
What makes the API's description loads `openapi`; other processes need no REST framework.

It must not know what a scope is for, nor anything that is done with it.
"""

__all__ = ["models", "openapi", "operations", "selectors"]
