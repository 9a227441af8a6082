import django.db.models.deletion
import uuid
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from streams.guards import GUARDS


DEAD_PIECES = 1_000
"""Of 2 kB each, as PostgreSQL stores a state."""


def have_room_for_states(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Have PostgreSQL clear the place of a state's predecessors within a minute, so that the next one is
    written there. By default it waits until they are a part of all that is stored. SQLite does so by itself.
    """
    if editor.connection.vendor == "postgresql":
        editor.execute(
            "ALTER TABLE streams_stream SET (toast.autovacuum_vacuum_scale_factor = 0, "
            f"toast.autovacuum_vacuum_threshold = {DEAD_PIECES})"
        )


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AnnouncedIntrusion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(help_text='Of the recipe.', max_length=64)),
                ('number', models.PositiveIntegerField(help_text='1, 2, … within the recipe.')),
                ('at', models.DateTimeField()),
            ],
            options={
                'ordering': ('number',),
            },
        ),
        migrations.CreateModel(
            name='EndedStream',
            fields=[
                ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='Stream',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('identifier', models.CharField(help_text='Of the recipe.', max_length=64, unique=True)),
                ('document', models.TextField(help_text="The recipe's, as published.")),
                ('is_open', models.BooleanField(default=True)),
                ('version', models.PositiveBigIntegerField(default=1, help_text='Grows with every change of the state.')),
                ('state', models.BinaryField(help_text='Sealed; keys of earlier versions are erased. Empty once estimated.')),
                ('estimate', models.BinaryField(help_text='Sealed; none before it is drawn.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='SeenState',
            fields=[
                ('intrusion', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='seen', serialize=False, to='streams.announcedintrusion')),
                ('state', models.BinaryField(help_text='As it was read, before it was randomized anew.')),
            ],
        ),
        migrations.AddIndex(
            model_name='announcedintrusion',
            index=models.Index(fields=['identifier', 'number'], name='streams_ann_identif_f8438f_idx'),
        ),
        migrations.CreateModel(
            name='StreamSample',
            fields=[
                ('stream', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='sample', serialize=False, to='streams.stream')),
                ('sealed', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='ItemBatch',
            fields=[
                ('pk', models.CompositePrimaryKey('stream_id', 'nonce', blank=True, editable=False, primary_key=True, serialize=False)),
                ('nonce', models.BinaryField(max_length=16)),
                ('stream', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='streams.stream')),
            ],
        ),
        *(guard.operation() for guard in GUARDS),
        migrations.RunPython(have_room_for_states, migrations.RunPython.noop),
    ]
