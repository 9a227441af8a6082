"""What the audit log records about a helper's tasks."""

from log.audit.registry import action_declare

TASK_REGISTERED = action_declare("task_registered", "Two-server task registered", public=True)
SHARE_RELEASED = action_declare("share_released", "Aggregate share released", public=True)
TASK_ENDED = action_declare("task_ended", "Two-server task ended", public=True)
