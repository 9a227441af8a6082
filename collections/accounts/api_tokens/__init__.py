"""API tokens: for which account a program acts, and with which scopes.

The settings name `authentication` and `permissions` for every view of the REST API; views declare which scope
they need (`web.scopes`). Others call `operations` (create, revoke) and `selectors`, and read `models`. What
makes the API's description loads `openapi`; other processes need no REST framework.

It must not know what a scope is for, nor anything that is done with it.
"""

__all__ = ["models", "openapi", "operations", "selectors"]
