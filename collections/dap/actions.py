"""What the audit log records about aggregators."""

from log.audit.registry import action_declare

KEY_INTRODUCED = action_declare(
    "hpke_key_introduced", "Key for reports introduced", public=True, shown=("sha256", "retires")
)
