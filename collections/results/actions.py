"""What the audit log records about results."""

from log.audit.registry import action_declare

RESULT_RELEASED = action_declare(
    "result_released",
    "Result released",
    public=True,
    shown=("reports", "epsilon", "delta", "cohort_size", "result"),
)
RESULT_HELD = action_declare("result_held", "Result held: too many reports", public=True)
RESULT_ALLOWED = action_declare("result_allowed", "Held result let pass", public=True)
RESULT_WITHHELD = action_declare(
    "result_withheld", "Result withheld", public=True, shown=("result", "spending_returned")
)
VERDICT_FILED = action_declare("verdict_filed", "Result recomputed by others", public=True, shown=("failed",))
