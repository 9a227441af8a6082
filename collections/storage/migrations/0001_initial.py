import uuid
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps



def identify(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """In the migration and not at first use: a key is made in a transaction that may be rolled back, its file
    is not.
    """
    apps.get_model("storage", "Database").objects.using(editor.connection.alias).create()


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='ClockWitness',
            fields=[
                ('boot', models.CharField(help_text='The machine, and its start.', max_length=64, primary_key=True, serialize=False)),
                ('database_at', models.DateTimeField(help_text="The database's time, when it was last believed.")),
                ('steady_seconds', models.FloatField(help_text='The steady clock at that time.')),
                ('doubted_at', models.DateTimeField(help_text='The time after a jump that is not believed yet.', null=True)),
                ('doubted_steady_seconds', models.FloatField(help_text='The steady clock at that time.', null=True)),
                ('ahead_seconds', models.FloatField(help_text="By which the machine's own clock was before the database's.")),
                ('noted_at', models.DateTimeField(help_text="When this was last written, by the database's clock.")),
            ],
        ),
        migrations.CreateModel(
            name='Database',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='ErasableKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('service', models.CharField(help_text='The kind of key service that has the key.', max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name='PeriodicRun',
            fields=[
                ('name', models.CharField(help_text="The task's name.", max_length=100, primary_key=True, serialize=False)),
                ('queued', models.UUIDField(help_text='Which message of it waits.', null=True)),
                ('queued_until', models.DateTimeField(help_text='Until when a message of it is believed to wait.', null=True)),
                ('unanswered', models.PositiveIntegerField(default=0, help_text='Messages since a worker last took one up.')),
                ('running_until', models.DateTimeField(help_text='Until when a worker is believed to run it.', null=True)),
                ('runner', models.UUIDField(help_text='Which run that is.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='WriteCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('filler', models.BinaryField()),
            ],
        ),
        migrations.RunPython(identify, migrations.RunPython.noop),
    ]
