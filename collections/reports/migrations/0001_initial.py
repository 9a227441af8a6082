import django.db.models.deletion
import secrets
from django.db import migrations, models
from reports.partitions import REPORTS
from storage.partition_functions import partition


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='SegmentedRecipe',
            fields=[
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='recipes.recipe')),
                ('store', models.CharField(help_text='Address of the store.', max_length=300)),
                ('key', models.BinaryField(default=secrets.token_bytes, help_text="Of the hashes that say what counts once; so no device can choose its report's shard.", max_length=32)),
                ('shards', models.PositiveIntegerField(help_text='Into how many its reports are sorted.', null=True)),
                ('manifest', models.BinaryField(help_text='SHA-256 of the manifest, once it is sealed.', max_length=32, null=True)),
                ('lost', models.CharField(blank=True, default='', help_text='What was changed or is gone, as a clause.', max_length=200)),
                ('ended_at', models.DateTimeField(db_index=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='CiphertextDigest',
            fields=[
                ('pk', models.CompositePrimaryKey('recipe_id', 'digest', blank=True, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BinaryField(max_length=16)),
                ('recipe', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='ReportNonce',
            fields=[
                ('pk', models.CompositePrimaryKey('recipe_id', 'nonce', blank=True, editable=False, primary_key=True, serialize=False)),
                ('nonce', models.BinaryField(max_length=16)),
                ('recipe', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='AcceptedReport',
            fields=[
                ('pk', models.CompositePrimaryKey('recipe_id', 'nonce', blank=True, editable=False, primary_key=True, serialize=False)),
                ('nonce', models.BinaryField(max_length=16)),
                ('record', models.BinaryField(help_text='Token, and encrypted bit with its proof.')),
                ('recipe', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='RejectionCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=40)),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rejections', to='recipes.recipe')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('recipe', 'reason'), name='one_count_per_reason')],
            },
        ),
        migrations.CreateModel(
            name='ReportSegment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chunk', models.UUIDField(null=True)),
                ('name', models.UUIDField(help_text="Of the object, below the recipe's.")),
                ('sha256', models.BinaryField(max_length=32)),
                ('count', models.PositiveIntegerField()),
                ('recipe', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
            options={
                'indexes': [models.Index(fields=['recipe', 'chunk', 'id'], name='segments_of_chunk')],
            },
        ),
        migrations.CreateModel(
            name='StoredReports',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chunk', models.UUIDField(db_index=True, null=True)),
                ('count', models.PositiveIntegerField()),
                ('payload', models.BinaryField()),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
            options={
                'indexes': [models.Index(fields=['recipe', 'chunk'], name='reports_sto_recipe__b71fe8_idx')],
            },
        ),
        migrations.CreateModel(
            name='SortedReports',
            fields=[
                ('id', models.UUIDField(help_text="That of the chunk; also the object's name.", primary_key=True, serialize=False)),
                ('first', models.PositiveBigIntegerField(help_text='Key of its first segment, by which they are in order.')),
                ('count', models.PositiveBigIntegerField()),
                ('index_sha256', models.BinaryField(help_text='Of the index at its end.', max_length=32)),
                ('sources_sha256', models.BinaryField(help_text="Of the segments' hashes, in their order.", max_length=32)),
                ('planned', models.BooleanField(default=False, help_text='Whether the manifest is being sealed, or is.')),
                ('recipe', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('recipe', 'first'), name='sorted_once')],
            },
        ),
        partition(REPORTS),
    ]
