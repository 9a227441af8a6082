"""Accounts of the organization: people sign in at its OpenID provider, and their groups there are roles here.

PyJWT verifies signatures, the claims are checked here: docs/adr/0013-sign-in-at-a-provider.md.

Others call `operations` and `selectors`; pages call `provider` and `id_tokens`, too. `configuration` needs no
app. It must not know how a page starts a sign-in, nor what a role allows.
"""

__all__ = ["configuration", "id_tokens", "operations", "provider", "refusals", "selectors"]
