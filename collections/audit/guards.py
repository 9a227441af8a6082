"""What the database refuses in this app's tables."""

from audit.append_only import Guard

ENTRIES = Guard("audit_entry", "append_only", "the audit log is append-only")
GUARDS = (ENTRIES,)
