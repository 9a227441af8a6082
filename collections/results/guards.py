"""What the database refuses in this app's tables."""

from recipes.guards import OF_PRIVATE
from storage.append_only import Guard

RELEASES = Guard(
    "releases_release",
    "final",
    "a release is final",
    key="id",
    unique=("recipe_id",),
    delete_unless=OF_PRIVATE,
)
TRUTHS = Guard(
    "releases_simulatedtruth",
    "final",
    "the truth of a simulation is final",
    key="id",
    unique=("recipe_id",),
    delete_unless=OF_PRIVATE,
)
SIGNED = Guard(
    "releases_signedresult",
    "final",
    "what was signed is final",
    key="id",
    unique=("release_id",),
    delete_unless="EXISTS (SELECT 1 FROM releases_release "
    "JOIN recipes_recipe ON recipes_recipe.id = releases_release.recipe_id "
    "WHERE releases_release.id = OLD.release_id AND device_key <> '')",
)
GUARDS = (RELEASES, TRUTHS, SIGNED)
