"""What the database refuses in this app's tables."""

from storage.append_only import Guard

ENTRIES = Guard(
    "audit_entry",
    "append_only",
    "the audit log is append-only",
    key='"index"',
    unique=("entry_hash",),
)
HEAD = Guard(
    "audit_head",
    "advances",
    "the head of the audit log only advances",
    key="id",
    insert_when="NEW.id <> 1",
    update_when='NEW.id <> OLD.id OR NEW."index" <> OLD."index" + 1',
)
GUARDS = (ENTRIES, HEAD)
