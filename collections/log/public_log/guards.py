"""What the database refuses in this app's tables."""

from storage.append_only import Guard

LEAVES = Guard("public_log_leaf", "append_only", "the public log is append-only", key="position")
CHECKPOINTS = Guard("public_log_signedcheckpoint", "append_only", "what was signed stays", key="size")
TREE = Guard(
    "public_log_tree",
    "advances",
    "the public log only grows",
    key="id",
    insert_when="NEW.id <> 1",
    # A new name, with the size as it is, or more leaves.
    update_when="NEW.id <> OLD.id OR NEW.size < OLD.size "
    "OR (NEW.origin = OLD.origin) = (NEW.size = OLD.size)",
)
WITNESSED = Guard(
    "public_log_witnessedlog",
    "advances",
    "a witness never goes back",
    key="origin",
    update_when="NEW.origin <> OLD.origin OR NEW.size < OLD.size",
)
FORKS = Guard("public_log_fork", "append_only", "evidence stays", key="id")
LOST = Guard(
    "public_log_loststate",
    "append_only",
    "evidence stays",
    key="id",
    update_when="NEW.id <> OLD.id OR NEW.size <> OLD.size OR NEW.note <> OLD.note "
    "OR OLD.decided_at IS NOT NULL OR NEW.decided_at IS NULL",
)
GUARDS = (LEAVES, CHECKPOINTS, TREE, WITNESSED, FORKS, LOST)
