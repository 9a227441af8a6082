import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from series.guards import GUARDS


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Series',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(help_text='Random, in hexadecimal digits.', max_length=16, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('draft', models.JSONField(help_text='As in the file of a series, or of a recipe in rounds.')),
                ('published_at', models.DateTimeField()),
                ('stopped_at', models.DateTimeField(help_text='When its remaining rounds were given up.', null=True)),
                ('simulation', models.BooleanField(default=False, help_text='Reports come from simulated devices.')),
                ('private', models.BooleanField(default=False, help_text='Only analysts see it, as all of its rounds.')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'series',
                'ordering': ('-pk',),
                'constraints': [models.CheckConstraint(condition=models.Q(('private', False), ('simulation', True), _connector='OR'), name='series_private_is_simulated')],
            },
        ),
        migrations.CreateModel(
            name='RoundsDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(help_text='SHA-256 of the document.', max_length=64, unique=True)),
                ('document', models.TextField(help_text='Canonical JSON (RFC 8785).')),
                ('signature', models.BinaryField(max_length=64)),
                ('rounds', models.PositiveIntegerField(help_text='How many there are at most.')),
                ('public_input', models.BooleanField(help_text='Whether each round waits for its public input.')),
                ('simulation', models.BooleanField(help_text='Reports come from simulated devices.')),
                ('series', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='rounds_document', to='series.series')),
            ],
        ),
        migrations.CreateModel(
            name='Mark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('note', models.CharField(max_length=120)),
                ('series', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='series.series')),
            ],
            options={
                'ordering': ('at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Round',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(help_text='From 1.')),
                ('opens_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('published', 'Published'), ('skipped', 'Skipped')], default='planned', max_length=10)),
                ('reason', models.CharField(blank=True, help_text='Why it was skipped.', max_length=300)),
                ('failures', models.PositiveIntegerField(default=0, help_text='How often publishing it failed.')),
                ('problem', models.CharField(blank=True, help_text='Why it failed last.', max_length=300)),
                ('retry_at', models.DateTimeField(help_text='When it is tried again; null if it never failed.', null=True)),
                ('recipe', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='round', to='recipes.recipe')),
                ('series', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rounds', to='series.series')),
            ],
            options={
                'ordering': ('series', 'number'),
                'indexes': [models.Index(fields=['state', 'opens_at'], name='series_roun_state_5843bf_idx')],
                'constraints': [models.UniqueConstraint(fields=('series', 'number'), name='round_number_once'), models.CheckConstraint(condition=models.Q(models.Q(('recipe__isnull', False), ('state', 'published')), models.Q(models.Q(('state', 'published'), _negated=True), ('recipe', None)), _connector='OR'), name='round_published_has_recipe')],
            },
        ),
        migrations.CreateModel(
            name='PublicInput',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(help_text='Of the round.')),
                ('identifier', models.CharField(help_text='SHA-256 of the document.', max_length=64, unique=True)),
                ('document', models.TextField(help_text='Canonical JSON (RFC 8785).')),
                ('signature', models.BinaryField(max_length=64)),
                ('series', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='inputs', to='series.series')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('series', 'number'), name='input_of_round_once')],
            },
        ),
        *(guard.operation() for guard in GUARDS),
    ]
