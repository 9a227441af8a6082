"""The attester: knows devices, and lets each have one token per recipe without learning for which recipe.

A server of its own organization runs it, and nobody who runs the issuer or the site. It passes sealed
requests on to the issuer, and the answers back. Others use `urls`, call `status` for its page, and read
`models` for its metrics.

It must not know recipes, reports, tokens, or what is in a capsule.
"""

__all__ = ["models", "status", "urls"]
