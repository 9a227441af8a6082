"""What the database refuses in this app's tables."""

from storage.append_only import Guard

POPULATIONS = Guard(
    "ledger_population",
    "stays",
    "a population keeps its name and is never deleted",
    key="id",
    unique=("name",),
    update_when="OLD.id <> NEW.id OR OLD.name <> NEW.name",
)
SPENDINGS = Guard(
    "ledger_spending",
    "append_only",
    "the privacy ledger is append-only",
    key="id",
    unique=("recipe", "returns_id"),
)
GUARDS = (POPULATIONS, SPENDINGS)
