"""The attester: gives each known device one token per recipe, without learning the recipe.

It runs on a server of an organization that runs neither the issuer nor the site. It passes sealed requests on
to the issuer, and the answers back. Others use `urls`, call `status` for its page, and read `models` for its
metrics.

It must not know recipes, reports, tokens, or what is in a capsule.
"""

__all__ = ["models", "status", "urls"]
