"""Analysts publish and close recipes; auditors only read."""

from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

READ = ("recipes.view_recipe", "releases.view_release", "audit.view_entry")
GROUPS = {
    "Analysts": (*READ, "recipes.add_recipe", "recipes.change_recipe", "recipes.delete_recipe", "recipes.publish_recipe"),
    "Auditors": READ,
}


def make_groups(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    from django.apps import apps as installed

    # Permissions are otherwise made only after all migrations have run.
    for label in ("recipes", "releases", "audit"):
        create_permissions(installed.get_app_config(label), verbosity=0, using=editor.connection.alias)
    permission_model = apps.get_model("auth", "Permission")
    for name, permissions in GROUPS.items():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        for permission in permissions:
            label, codename = permission.split(".")
            group.permissions.add(permission_model.objects.get(content_type__app_label=label, codename=codename))


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0002_release_is_final"),
        ("recipes", "0002_published_is_final"),
        ("audit", "0002_append_only"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
