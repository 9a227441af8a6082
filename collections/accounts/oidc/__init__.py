"""Accounts of the organization: people sign in at its OpenID provider, and their groups there are roles here.

Neither `django-allauth` nor `mozilla-django-oidc` is used. The former is well kept, but brings six tables and
forty thousand lines, finds accounts by e-mail address, and skips the signature of the code flow. The latter
checks neither issuer nor audience, sets no time limit, and reads no discovery document, so every method that
matters would be replaced. Signatures and keys are the work of PyJWT, on which both rest; the claims are
checked here, because `now` is an argument and the rules are stricter than its own.

Others call `operations` and `selectors`; pages call `provider` and `id_tokens`, too. `configuration` needs no
app. It must not know how a page starts a sign-in, nor what a role allows.
"""

__all__ = ["configuration", "id_tokens", "operations", "provider", "refusals", "selectors"]
