"""What goes with a recipe's reports, all at once: their nonces and digests, and those that wait."""

from storage.partitions import Partitioned, Table

REPORTS = Partitioned(
    name="reports",
    owner="recipe_id",
    tables=(
        Table("reports_reportnonce", key="nonce"),
        Table("reports_ciphertextdigest", key="digest"),
        Table("reports_storedreports", key="id", indexed=("chunk",)),
    ),
    live=(
        "EXISTS (SELECT 1 FROM recipes_recipe WHERE id = {owner} AND status <> 'draft') "
        "AND NOT EXISTS (SELECT 1 FROM releases_release WHERE recipe_id = {owner})"
    ),
    # The word of a table far above: the database itself sees that nobody can do without them.
    over="EXISTS (SELECT 1 FROM releases_release WHERE recipe_id = {owner})",
)
PARTITIONED = (REPORTS,)
