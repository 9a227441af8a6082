import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps



def begin(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("notifications", "Watched").objects.create(pk=1, log_index=0)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ledger', '0001_initial'),
        ('recipes', '0001_initial'),
        ('releases', '0001_initial'),
        ('series', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message', models.UUIDField(default=uuid.uuid4, help_text='The same at every attempt.', unique=True)),
                ('purpose', models.CharField(choices=[('event', 'Event'), ('result', 'Result'), ('test', 'Test'), ('confirm', 'Confirmation of the address')], default='event', max_length=10)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('give_up_at', models.DateTimeField()),
                ('attempts_made', models.PositiveIntegerField(default=0, help_text='Since it was sent anew.')),
                ('next_attempt_at', models.DateTimeField(help_text='While it is queued: when its task is taken for lost.')),
                ('queued', models.BooleanField(default=False)),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text='Its subject: one notification for each.', max_length=300, unique=True)),
                ('kind', models.CharField(max_length=40)),
                ('at', models.DateTimeField()),
                ('subject', models.CharField(help_text="Recipe's or series' identifier, population's name.", max_length=200)),
                ('name', models.CharField(max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='Watched',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('log_index', models.BigIntegerField(help_text='Of the last entry that was looked at.')),
            ],
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField(help_text='Of HTTP; none without an answer.', null=True)),
                ('problem', models.CharField(blank=True, help_text='Why it failed; empty if it arrived.', max_length=100)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='notifications.delivery')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.AddField(
            model_name='delivery',
            name='event',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notifications.event'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='release',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='releases.release'),
        ),
        migrations.CreateModel(
            name='NearlySpent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('told', models.UUIDField(default=uuid.uuid4, help_text='Tells this time from the next one.')),
                ('population', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ledger.population')),
            ],
        ),
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(help_text='Random, in hexadecimal digits.', max_length=16, unique=True)),
                ('channel', models.CharField(choices=[('webhook', 'Webhook'), ('email', 'E-mail'), ('otlp', 'OpenTelemetry')], max_length=10)),
                ('target', models.CharField(help_text='Address of the receiver.', max_length=500)),
                ('events', models.JSONField(help_text='Names of the types of events to notify about.')),
                ('sealed', models.BinaryField(help_text='Its secret, sealed: signs webhooks, and links in mails.')),
                ('sealed_before', models.BinaryField(help_text='The secret before, sealed.', null=True)),
                ('before_until', models.DateTimeField(help_text='Until when the secret before signs too.', null=True)),
                ('created_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(help_text='When it was confirmed; no message before.', null=True)),
                ('failing_since', models.DateTimeField(help_text='First failure since the last success.', null=True)),
                ('disabled_at', models.DateTimeField(help_text='When it was switched off; no message since.', null=True)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='subscriptions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.AddField(
            model_name='delivery',
            name='subscription',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notifications.subscription'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(condition=models.Q(('channel', 'email')), fields=('user',), name='one_mail_subscription'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['state', 'next_attempt_at'], name='notificatio_state_ed5af9_idx'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['state', 'created_at'], name='notificatio_state_a01f24_idx'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('event', 'subscription'), name='event_once_per_subscription'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('event__isnull', False), ('purpose', 'event')), models.Q(models.Q(('purpose', 'event'), _negated=True), ('event', None)), _connector='OR'), name='delivery_of_event_has_one'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('release', 'subscription'), name='result_once_per_subscription'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('purpose', 'result'), ('release__isnull', False)), models.Q(models.Q(('purpose', 'result'), _negated=True), ('release', None)), _connector='OR'), name='delivery_of_result_has_one'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(condition=models.Q(('channel', 'otlp')), fields=('channel',), name='one_otlp_subscription'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', 'otlp'), ('user', None)), models.Q(models.Q(('channel', 'otlp'), _negated=True), ('user__isnull', False)), _connector='OR'), name='only_otlp_has_no_user'),
        ),
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(help_text='Random, in hexadecimal digits: the address of its feed.', max_length=32, unique=True)),
                ('when', models.CharField(choices=[('above', 'Above a value'), ('below', 'Below a value, or below the cohort'), ('changed', 'Changed by more than noise')], max_length=10)),
                ('value', models.FloatField(help_text='A share from 0 to 1, or in the unit.', null=True)),
                ('unit', models.CharField(blank=True, help_text='Of the estimates that it compares; empty for shares.', max_length=100)),
                ('watched', models.JSONField(help_text='Labels of segments; an empty one for all devices.')),
                ('over_rounds', models.PositiveIntegerField(help_text='For which its false alarm rate holds.')),
                ('created_at', models.DateTimeField()),
                ('recipe', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='recipes.recipe')),
                ('series', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='series.series')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.CreateModel(
            name='Check',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(help_text='When the recipe ended.')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('quiet', 'Did not fire'), ('fired', 'Fired'), ('unknown', 'Has nothing to compare'), ('failed', 'Could not be compared')], default='waiting', max_length=10)),
                ('segments', models.JSONField(default=list, help_text='Of those watched, which fired.')),
                ('decided_at', models.DateTimeField(help_text='When it was compared; empty while it waits.', null=True)),
                ('recipe', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='recipes.recipe')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='notifications.rule')),
            ],
            options={
                'ordering': ('-pk',),
            },
        ),
        migrations.AddField(
            model_name='event',
            name='rule',
            field=models.ForeignKey(help_text='The one that fired, for its account.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='notifications.rule'),
        ),
        migrations.AddConstraint(
            model_name='rule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('recipe__isnull', False), ('series', None)), models.Q(('recipe', None), ('series__isnull', False)), _connector='OR'), name='rule_of_series_or_recipe'),
        ),
        migrations.AddIndex(
            model_name='check',
            index=models.Index(fields=['state'], name='notificatio_state_a160b1_idx'),
        ),
        migrations.AddConstraint(
            model_name='check',
            constraint=models.UniqueConstraint(fields=('rule', 'recipe'), name='result_checked_once'),
        ),
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]
