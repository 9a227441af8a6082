"""What the audit log records about an issuer."""

from log.audit.registry import action_declare

ISSUANCE_REGISTERED = action_declare(
    "issuance_registered", "Tokens issued from now on", public=True, shown=("token_key",)
)
"""`token_key` is the SHA-256 of the public key, which is retired when issuing ends."""

ISSUANCE_ENDED = action_declare("issuance_ended", "Issuing of tokens ended", public=True)
