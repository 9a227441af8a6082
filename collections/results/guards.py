"""What the database refuses in this app's tables."""

from storage.append_only import Guard

RELEASES = Guard("releases_release", "final", "a release is final", key="id", unique=("recipe_id",))
TRUTHS = Guard(
    "releases_simulatedtruth", "final", "the truth of a simulation is final", key="id", unique=("recipe_id",)
)
SIGNED = Guard("releases_signedresult", "final", "what was signed is final", key="id", unique=("release_id",))
GUARDS = (RELEASES, TRUTHS, SIGNED)
