"""What the audit log records about streams."""

from log.audit.registry import action_declare

INTRUSION_ANNOUNCED = action_declare(
    "intrusion_announced", "Intrusion announced: the state was read", public=True
)
