import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What it is for, as its owner calls it.', max_length=60)),
                ('prefix', models.CharField(help_text='First digits of the token: its public name.', max_length=8, unique=True)),
                ('secret_hash', models.CharField(help_text='SHA-256 of the whole token.', max_length=64)),
                ('scopes', models.JSONField(help_text='Names of the scopes that it was given.')),
                ('password_mark', models.CharField(help_text="Changes with the account's password, and ends the token then.", max_length=128)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('last_used_on', models.DateField(help_text='Only the day.', null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-pk',),
                'constraints': [models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='api_token_expires_later')],
            },
        ),
    ]
