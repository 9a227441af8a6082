"""What the audit log records about the public log itself, of our own key, and of those of our partners."""

from log.audit.registry import action_declare

LOG_RENAMED = action_declare(
    "log_renamed",
    "Public log goes on under a new name, after entries were lost",
    public=True,
    shown=("before", "entries", "lost"),
)
SIGNING_KEY_CHANGED = action_declare(
    "signing_key_changed", "Signing key changed", public=True, shown=("before", "key")
)
PARTNER_KEY_INTRODUCED = action_declare(
    "partner_key_introduced", "Key of a partner introduced", public=True, shown=("key",)
)
PARTNER_KEY_RETIRED = action_declare(
    "partner_key_retired", "Key of a partner retired", public=True, shown=("key",)
)
