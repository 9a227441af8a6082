import django.db.models.deletion
from django.db import migrations, models
from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from results.guards import GUARDS


READ = ("recipes.view_recipe", "releases.view_release", "audit.view_entry")
GROUPS = {
    "Analysts": (
        *READ,
        "recipes.add_recipe",
        "recipes.change_recipe",
        "recipes.delete_recipe",
        "recipes.publish_recipe",
    ),
    "Auditors": READ,
}


def make_groups(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Analysts publish and close recipes; auditors only read."""
    # Permissions are otherwise made only after all migrations have run.
    for label in ("recipes", "releases", "audit"):
        create_permissions(installed.get_app_config(label), verbosity=0, using=editor.connection.alias)
    permission_model = apps.get_model("auth", "Permission")
    for name, permissions in GROUPS.items():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        for permission in permissions:
            label, codename = permission.split(".")
            group.permissions.add(
                permission_model.objects.get(content_type__app_label=label, codename=codename)
            )


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("audit", "0001_initial"),
        ('recipes', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='HeldResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('issued', models.PositiveBigIntegerField(help_text='Tokens, as the issuer signed.')),
                ('expected', models.FloatField(help_text='Expected number of reports.')),
                ('most', models.PositiveBigIntegerField(help_text='Upper end of the interval for it.')),
                ('held_at', models.DateTimeField()),
                ('allowed_at', models.DateTimeField(help_text='When an administrator let it pass; none while it waits.', null=True)),
                ('allowed_reason', models.CharField(blank=True, help_text='Why; public.', max_length=200)),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='held', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('outcome', models.CharField(choices=[('released', 'Released'), ('withheld', 'Withheld')], max_length=10)),
                ('cause', models.CharField(blank=True, choices=[('too_few', 'Too few reports for the cohort size'), ('refused', 'No sum can be had'), ('given_up', 'Given up by an analyst or operator'), ('incomputable', 'No estimate can be computed')], help_text='Kind of withholding; empty if released.', max_length=12)),
                ('reason', models.CharField(blank=True, help_text='Why nothing was released.', max_length=300)),
                ('reports', models.PositiveBigIntegerField(help_text='Valid reports in the sum; unknown to everyone if nothing was released.', null=True)),
                ('rejected', models.JSONField(default=dict, help_text='Reason → number of reports, at all servers.')),
                ('servers', models.JSONField(help_text='What of each server is public; none if the recipe cannot be read.', null=True)),
                ('values', models.JSONField(default=list, help_text='Unbiased estimates.')),
                ('standard_errors', models.JSONField(default=list)),
                ('standard_error_note', models.CharField(blank=True, max_length=300)),
                ('projection', models.JSONField(default=list, help_text='The closest valid answer.')),
                ('error_bounds', models.JSONField(help_text='Within which all values lie of the truth at `confidence`; none if not stated.', null=True)),
                ('confidence', models.FloatField(help_text='Of the error bounds together.', null=True)),
                ('intervals', models.JSONField(default=list, help_text='Each of all values together, with its `level`; the widest first.')),
                ('details', models.JSONField(help_text='What else the statistic says; none if nothing.', null=True)),
                ('segments', models.JSONField(help_text='What is released of each segment; none if the recipe has no segments.', null=True)),
                ('excerpt', models.JSONField(help_text='What pages show of all these numbers; none if nothing was released.', null=True)),
                ('admission', models.JSONField(help_text='Reports against tokens; none if any sender may report, or nothing was released.', null=True)),
                ('guarantees', models.JSONField(default=list, help_text='Every guarantee, as stated at release.')),
                ('software', models.CharField(max_length=60)),
                ('released_at', models.DateTimeField()),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='release', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='SignedResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.TextField(help_text='Canonical JSON (RFC 8785).')),
                ('signature', models.BinaryField(max_length=64)),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='signed', to='releases.release')),
            ],
        ),
        migrations.CreateModel(
            name='SimulatedTruth',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('values', models.JSONField()),
                ('segments', models.JSONField(help_text='Of each segment; none if the recipe has no segments.', null=True)),
                ('devices', models.PositiveBigIntegerField()),
                ('sampled', models.PositiveBigIntegerField()),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='truth', to='recipes.recipe')),
            ],
        ),
        *(guard.operation() for guard in GUARDS),
        migrations.RunPython(make_groups, migrations.RunPython.noop),
    ]
