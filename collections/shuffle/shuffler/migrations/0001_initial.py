import django.db.models.deletion
import storage.device_rows
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(help_text="SHA-256 of the recipe's document.", max_length=64, unique=True)),
                ('document', models.TextField(help_text='Canonical JSON (RFC 8785).')),
                ('cohort_size', models.PositiveBigIntegerField(help_text='The batch is full with exactly this number of users.')),
                ('state', models.CharField(choices=[('collecting', 'Collecting'), ('full', 'Full'), ('shuffled', 'Shuffled'), ('ended', 'Ended')], default='collecting', max_length=10)),
                ('users', models.PositiveBigIntegerField(default=0, help_text='Whose messages were taken in.')),
                ('messages', models.PositiveBigIntegerField(help_text='Of all users; known once shuffled.', null=True)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('outcome', models.CharField(blank=True, help_text='Why it ended.', max_length=200)),
            ],
            options={
                'verbose_name_plural': 'batches',
            },
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('payload', models.BinaryField()),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='shuffler.batch')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Part',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(help_text='From 0.')),
                ('payload', models.BinaryField()),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='shuffler.batch')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('batch', 'number'), name='one_part_per_number')],
            },
        ),
        migrations.CreateModel(
            name='Rejection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=40)),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='rejections', to='shuffler.batch')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('batch', 'reason'), name='one_count_per_batch_and_reason')],
            },
        ),
        migrations.CreateModel(
            name='SubmissionNonce',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('nonce', models.BinaryField(max_length=16)),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='shuffler.batch')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('batch', 'nonce'), name='one_submission_per_nonce')],
            },
        ),
    ]
