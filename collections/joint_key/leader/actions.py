"""What the audit log records about lists of accepted reports."""

from log.audit.registry import action_declare

LIST_ACCEPTED = action_declare(
    "list_accepted", "List of accepted reports signed", public=True, shown=("reports", "list")
)
