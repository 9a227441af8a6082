"""What the database refuses in this app's tables."""

from storage.append_only import Guard

SIGNED = Guard(
    "series_roundsdocument",
    "signed",
    "what is signed of a recipe in rounds cannot be changed",
    key="id",
    unique=("identifier", "series_id"),
)
INPUTS = Guard(
    "series_publicinput",
    "inputs",
    "a public input cannot be changed",
    key="id",
    unique=("identifier",),
)
GUARDS = (SIGNED, INPUTS)
