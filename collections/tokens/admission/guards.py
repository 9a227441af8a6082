"""What the database refuses in this app's tables."""

from storage.append_only import Guard

COUNTED = Guard(
    "admission_issuance",
    "counted",
    "the number of issued tokens cannot be changed",
    key="recipe_id",
    update_when="OLD.issued IS NOT NULL",
)
GUARDS = (COUNTED,)
