import tokens.attester.models
import storage.device_rows
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('capsule', models.BinaryField(help_text='SHA-256 of the request.', max_length=32, unique=True)),
                ('answer', models.BinaryField()),
                ('day', models.DateField(db_index=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='EnrolmentCode',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('digest', models.BinaryField(help_text='SHA-256 of the code; once used, of code and key.', max_length=32, unique=True)),
                ('used', models.BooleanField(default=False)),
                ('made_on', models.DateField(help_text='Unused ones are deleted after a while.')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Issued',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('identifier', models.BinaryField(max_length=32, unique=True)),
                ('handle', models.BinaryField(help_text="The issuer's name of what was handed out.", max_length=16)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('pseudonym', models.BinaryField(default=tokens.attester.models.random_pseudonym, help_text='Stays the same if the key changes.', max_length=32, unique=True)),
                ('name', models.CharField(blank=True, help_text="As in the organization's own list; empty by code.", max_length=200)),
                ('key', models.BinaryField(help_text='Ed25519 key, or identifier of a credential.', max_length=1023, null=True, unique=True)),
                ('credential_key', models.BinaryField(help_text='COSE key of a WebAuthn credential.', null=True)),
                ('uses', models.PositiveBigIntegerField(default=0, help_text='As an authenticator counts; most do not.')),
                ('revoked', models.BooleanField(default=False)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('name', ''), _negated=True), fields=('name',), name='one_device_per_name')],
            },
        ),
        migrations.CreateModel(
            name='Handle',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('handle', models.BinaryField(max_length=16, unique=True)),
                ('withheld', models.BooleanField()),
                ('told', models.BooleanField(default=False, help_text='Whether the issuer knows that it was withheld.')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('told', False), ('withheld', True)), fields=['id'], name='handles_to_tell')],
            },
        ),
    ]
