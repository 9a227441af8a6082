import django.db.models.deletion
import secrets
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='SubAggregate',
            fields=[
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='recipes.recipe')),
                ('reports', models.PositiveBigIntegerField(default=0, help_text='Number of reports in the sum.')),
                ('total', models.JSONField(help_text='The sum of their contributions: a list of integers.')),
            ],
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('count', models.PositiveBigIntegerField()),
                ('step', models.CharField(choices=[('sum', 'Add up rows of reports'), ('sort', 'Sort segments into one'), ('seal', 'Seal the manifest of sorted segments'), ('shard', 'Add up one shard')], default='sum', max_length=5)),
                ('shard', models.PositiveIntegerField(help_text='Which one; of that step only.', null=True)),
                ('seed', models.BinaryField(default=secrets.token_bytes, help_text='Of the values that replace invalid ones: every attempt at the chunk gives one sum.', max_length=32)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('send_after', models.DateTimeField(help_text='When to send its task again; empty before it is sent.', null=True)),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
            options={
                'indexes': [models.Index(fields=['send_after'], name='aggregation_send_af_3322a2_idx')],
                'constraints': [models.UniqueConstraint(fields=('recipe', 'shard'), name='one_chunk_per_shard')],
            },
        ),
    ]
