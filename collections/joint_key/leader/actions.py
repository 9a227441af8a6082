"""What the audit log records about lists of accepted reports."""

from log.audit.registry import action_declare
from panprivacy.recipe import accepted_list

LIST_ACCEPTED = action_declare(
    accepted_list.LIST_ACCEPTED, "List of accepted reports signed", public=True, shown=("reports", "list")
)
