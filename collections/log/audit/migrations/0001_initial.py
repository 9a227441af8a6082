import log.audit.registry
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from log.audit.guards import GUARDS


def make_head(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("audit", "Head").objects.create(pk=1, index=0)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Head',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('index', models.BigIntegerField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('actor', models.CharField(blank=True, help_text='Username; empty for the system itself.', max_length=150)),
                ('action', models.CharField(choices=log.audit.registry.action_choices, max_length=40)),
                ('subject', models.CharField(help_text='Identifier of a recipe or task, a username, or “group” or “population” and its name.', max_length=200)),
                ('details', models.JSONField(default=dict)),
                ('salt', models.CharField(help_text='Random digits, a part of what is hashed.', max_length=32)),
                ('entry_hash', models.CharField(max_length=64, unique=True)),
            ],
            options={
                'verbose_name_plural': 'entries',
                'ordering': ('-index',),
                'indexes': [models.Index(fields=['subject', 'index'], name='audit_entry_subject_524ae4_idx'), models.Index(fields=['action', 'index'], name='audit_entry_action_69f097_idx')],
            },
        ),
        migrations.RunPython(make_head, migrations.RunPython.noop),
        *(guard.operation() for guard in GUARDS),
    ]
