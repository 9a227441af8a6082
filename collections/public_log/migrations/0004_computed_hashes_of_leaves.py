"""Hashes of leaves are computed from these, and no longer stored beside them."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from panprivacy.transparency.merkle import leaf_hash
from panprivacy.transparency.tiles import WIDTH


def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("public_log", "Tile").objects.filter(level=0).delete()


def store(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Going back: they are stored again."""
    leaves = apps.get_model("public_log", "Leaf").objects.order_by("position")
    tiles = apps.get_model("public_log", "Tile").objects
    hashes: list[bytes] = []
    for position, content in leaves.values_list("position", "content").iterator():
        hashes.append(leaf_hash(content.encode()))
        if len(hashes) == WIDTH:
            tiles.create(level=0, index=position // WIDTH, hashes=b"".join(hashes))
            hashes = []
    if hashes:
        tiles.create(level=0, index=position // WIDTH, hashes=b"".join(hashes))


class Migration(migrations.Migration):
    dependencies = [("public_log", "0003_lost_states")]
    operations = [migrations.RunPython(drop, store)]
