"""What the audit log records about a gateway."""

from log.audit.registry import action_declare

KEY_INTRODUCED = action_declare(
    "ohttp_key_introduced", "Key for sealed requests introduced", public=True, shown=("sha256", "retires")
)
