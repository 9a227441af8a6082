"""What the audit log records about reports."""

from log.audit.registry import action_declare

REPORTS_SEALED = action_declare("reports_sealed", "Stored reports sealed", public=True, shown=("manifest",))
