"""What the database refuses in this app's tables."""

from storage.append_only import Guard

_MAY_CHANGE = {"status", "closed_at"}
_COLUMNS = (
    "id",
    "status",
    "identifier",
    "name",
    "question",
    "statistic",
    "cohort_size",
    "draft",
    "repetition",
    "document",
    "signature",
    "opens_at",
    "closes_at",
    "simulation",
    "device_key",
    "created_by_id",
    "created_at",
    "published_at",
    "closed_at",
    "population",
    "event",
)


def _differs(column: str) -> str:
    # Compared as text: PostgreSQL's json columns have no equality of their own.
    old, new = f"OLD.{column}", f"NEW.{column}"
    return f"(CAST({old} AS TEXT) <> CAST({new} AS TEXT) OR ({old} IS NULL) <> ({new} IS NULL))"


OF_PRIVATE = (
    "EXISTS (SELECT 1 FROM recipes_recipe WHERE recipes_recipe.id = OLD.recipe_id AND device_key <> '')"
)
"""Of a row that belongs to a recipe: that this is a private simulation, whose rows go before it does."""

PUBLISHED = Guard(
    "recipes_recipe",
    "published",
    "a published recipe cannot be changed",
    key="id",
    unique=("identifier",),
    insert_when="NEW.status <> 'draft'",
    update_when="(OLD.status = 'draft' AND NEW.status NOT IN ('draft', 'published'))"
    " OR (OLD.status <> 'draft' AND ("
    + " OR ".join(_differs(column) for column in _COLUMNS if column not in _MAY_CHANGE)
    + " OR NOT (OLD.status = 'published' AND NEW.status = 'closed'"
    " AND OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL)))",
    delete_when="OLD.status <> 'draft' AND OLD.device_key = ''",
)
STATED = Guard(
    "recipes_recipeguarantees",
    "stated",
    "what a recipe guarantees cannot be changed",
    key="id",
    unique=("recipe_id",),
    delete_unless=OF_PRIVATE,
)
AGREED = Guard(
    "recipes_partnersignature",
    "agreed",
    "what a partner signed cannot be changed",
    key="id",
    unique=(("recipe_id", "partner"),),
)
GUARDS = (PUBLISHED, STATED, AGREED)
