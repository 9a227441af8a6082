"""What is deleted with a recipe's reports, all at once: their nonces and digests, and those that wait."""

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
    # A table of a layer above: the database itself checks that the rows are not needed any more. Of recipes,
    # only private simulations can be deleted.
    over=(
        "EXISTS (SELECT 1 FROM releases_release WHERE recipe_id = {owner}) "
        "OR NOT EXISTS (SELECT 1 FROM recipes_recipe WHERE id = {owner})"
    ),
)
PARTITIONED = (REPORTS,)
