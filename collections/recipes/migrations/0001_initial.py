import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from recipes.guards import GUARDS


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Recipe',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('draft', 'Draft'), ('published', 'Published'), ('closed', 'Closed')], default='draft', max_length=10)),
                ('identifier', models.CharField(editable=False, help_text='SHA-256 of the canonical document.', max_length=64, null=True, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('question', models.CharField(max_length=500)),
                ('statistic', models.CharField(max_length=40)),
                ('cohort_size', models.PositiveBigIntegerField()),
                ('population', models.CharField(default='', editable=False, max_length=60)),
                ('event', models.CharField(blank=True, default='', editable=False, help_text='Names of its events with commas between; empty if none is named.', max_length=500)),
                ('draft', models.JSONField(help_text='What the analyst entered, as in a recipe file.')),
                ('repetition', models.JSONField(default=dict, editable=False, help_text='How often a draft is meant to be asked, as in the file of a series; empty: once.')),
                ('document', models.TextField(blank=True, help_text='Canonical JSON (RFC 8785).')),
                ('signature', models.BinaryField(default=bytes, help_text='Ed25519, 64 bytes.')),
                ('opens_at', models.DateTimeField(null=True)),
                ('closes_at', models.DateTimeField(null=True)),
                ('simulation', models.BooleanField(default=False, help_text='Reports come from simulated devices.')),
                ('device_key', models.CharField(blank=True, default='', editable=False, help_text='What simulated devices of a private simulation show; empty of all others.', max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('published_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('editors', models.ManyToManyField(help_text='Who wrote any of the draft.', related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
                'permissions': (('publish_recipe', 'Can publish and close recipes'),),
            },
        ),
        migrations.CreateModel(
            name='PartnerSignature',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('partner', models.CharField(choices=[('helper', 'Helper'), ('shuffler', 'Shuffler'), ('issuer', 'Issuer of tokens')], max_length=10)),
                ('signature', models.BinaryField(help_text='Ed25519 over what this site signs too, 64 bytes.')),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='partner_signatures', to='recipes.recipe')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('recipe', 'partner'), name='one_signature_per_partner')],
            },
        ),
        migrations.CreateModel(
            name='AskedAgain',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('origin', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='asked_again', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='Approval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.JSONField(help_text='What is to be published, as in a recipe file.')),
                ('content', models.CharField(help_text='SHA-256 of the document.', max_length=64)),
                ('universe', models.CharField(blank=True, default='', help_text='SHA-256 of the items that publishing lists; empty if it lists none.', max_length=64)),
                ('state', models.CharField(choices=[('asked', 'Waiting'), ('approved', 'Approved'), ('declined', 'Declined'), ('void', 'Void'), ('used', 'Published')], default='asked', max_length=10)),
                ('asked_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(null=True)),
                ('note', models.CharField(blank=True, help_text='Of who decided.', max_length=300)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('recipe', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='recipes.recipe')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='NextStep',
            fields=[
                ('queued', models.UUIDField(help_text='Which message of it waits.', null=True)),
                ('queued_until', models.DateTimeField(help_text='Until when a message of it is believed to wait.', null=True)),
                ('unanswered', models.PositiveIntegerField(default=0, help_text='Messages since a worker last took one up.')),
                ('running_until', models.DateTimeField(help_text='Until when a worker is believed to run it.', null=True)),
                ('runner', models.UUIDField(help_text='Which run that is.', null=True)),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='next_step', serialize=False, to='recipes.recipe')),
                ('due_at', models.DateTimeField(db_index=True, help_text="By the database's clock.")),
                ('failures', models.PositiveIntegerField(default=0, help_text='Steps that failed one after the other.')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='RecipeGuarantees',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stated', models.JSONField(help_text='A list of `Guarantee.as_dict()`.')),
                ('numbers', models.JSONField(help_text='`RecipeNumbers.as_dict()`.')),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='guarantees', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='RecipeKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scheme', models.CharField(max_length=40)),
                ('sealed', models.BinaryField()),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='key', to='recipes.recipe')),
            ],
        ),
        migrations.CreateModel(
            name='NamedEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='named_events', to='recipes.recipe')),
            ],
            options={
                'indexes': [models.Index(fields=['name', 'recipe'], name='recipe_of_event')],
                'constraints': [models.UniqueConstraint(fields=('recipe', 'name'), name='event_of_recipe_once')],
            },
        ),
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(db_index=True, max_length=40)),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='recipes.recipe')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('recipe', 'name'), name='tag_of_recipe_once')],
            },
        ),
        migrations.AddIndex(
            model_name='recipe',
            index=models.Index(fields=['status', 'closes_at'], name='recipes_rec_status_ddc1e8_idx'),
        ),
        migrations.AddIndex(
            model_name='recipe',
            index=models.Index(fields=['population', 'id'], name='recipe_of_population'),
        ),
        migrations.AddConstraint(
            model_name='recipe',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('identifier', None), ('status', 'draft')), models.Q(models.Q(('status', 'draft'), _negated=True), ('closes_at__isnull', False), ('identifier__isnull', False), ('published_at__isnull', False)), _connector='OR'), name='recipe_published_is_complete'),
        ),
        migrations.AddConstraint(
            model_name='recipe',
            constraint=models.CheckConstraint(condition=models.Q(('device_key', ''), ('status', 'draft'), ('simulation', True), _connector='OR'), name='recipe_private_is_simulated'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['state', 'content'], name='recipes_app_state_4f06f5_idx'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ('asked', 'approved'))), fields=('recipe',), name='approval_one_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(('decided_by', None), models.Q(('decided_by', models.F('asked_by')), _negated=True), _connector='OR'), name='approval_decided_by_another'),
        ),
        *(guard.operation() for guard in GUARDS),
    ]
