"""What the audit log records about recipes."""

from log.audit.registry import action_declare

RECIPE_PUBLISHED = action_declare(
    "recipe_published",
    "Recipe published",
    public=True,
    shown=("name", "statistic", "population", "trust", "simulation", "spends"),
)
RECIPE_CLOSED = action_declare("recipe_closed", "Recipe closed", public=True, shown=("closes_at",))
DRAFT_SAVED = action_declare("draft_saved", "Draft of a recipe saved", public=False)
APPROVAL_ASKED = action_declare("approval_asked", "Approval asked for", public=False)
APPROVED = action_declare("approved", "Approved", public=False)
DECLINED = action_declare("declined", "Declined", public=False)
DRAFT_DELETED = action_declare("draft_deleted", "Draft of a recipe deleted", public=False)
