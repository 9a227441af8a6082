"""What the audit log tells of results."""

from audit.registry import action_declare

RESULT_RELEASED = action_declare("result_released", "Result released", public=True)
RESULT_WITHHELD = action_declare("result_withheld", "Result withheld", public=True)
