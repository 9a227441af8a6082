"""The docs list what the registries have."""

from django.conf import settings

from panprivacy.catalogue import STATISTICS
from panprivacy.encryption import SCHEMES


def tables() -> str:
    """Every table of the docs about recipes."""
    recipes = settings.BASE_DIR / "docs" / "recipes.md"
    text = (recipes if recipes.exists() else settings.BASE_DIR / "README.md").read_text()
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def test_every_statistic_stands_in_the_tables_of_the_docs() -> None:
    assert [name for name in STATISTICS if f"`{name}`" not in tables()] == []


def test_every_encryption_scheme_stands_in_the_tables_of_the_docs() -> None:
    assert [name for name in SCHEMES if f"`{name}`" not in tables()] == []
