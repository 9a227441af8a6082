"""What the audit log tells of streams."""

from audit.registry import action_declare

INTRUSION_ANNOUNCED = action_declare(
    "intrusion_announced", "Intrusion announced: the state was read", public=True
)
