import django.db.models.deletion
import storage.device_rows
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Issuance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request', models.BinaryField(help_text='Chosen by the site.', max_length=16, unique=True)),
                ('token_key', models.BinaryField(help_text='Public key, as in a recipe: SubjectPublicKeyInfo (RFC 9578).')),
                ('sealed', models.BinaryField(help_text='Secret keys, sealed; NULL once erased.', null=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting for its recipe'), ('issuing', 'Issuing'), ('ended', 'Ended')], default='waiting', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('identifier', models.CharField(help_text="SHA-256 of the recipe's document.", max_length=64, null=True, unique=True)),
                ('document', models.TextField(blank=True, help_text='Canonical JSON (RFC 8785) of the recipe.')),
                ('issued', models.PositiveBigIntegerField(help_text='Tokens; known once ended.', null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('outcome', models.CharField(blank=True, help_text='Why it ended.', max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='Handle',
            fields=[
                ('id', models.BigAutoField(default=storage.device_rows.random_key, primary_key=True, serialize=False)),
                ('handle', models.BinaryField(help_text='As the attester knows it.', max_length=16, unique=True)),
                ('withheld', models.BooleanField(default=False, help_text='The attester kept the answer.')),
                ('issuance', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuer.issuance')),
            ],
            options={
                'abstract': False,
            },
        ),
    ]
