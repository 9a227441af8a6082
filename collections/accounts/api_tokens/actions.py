"""What the audit log records about API tokens: names and prefixes, never a token."""

from log.audit.registry import action_declare

TOKEN_CREATED = action_declare("api_token_created", "API token created", public=False)
TOKEN_REVOKED = action_declare("api_token_revoked", "API token revoked", public=False)
TOKEN_REFUSED = action_declare("api_token_refused", "API token refused", public=False)
