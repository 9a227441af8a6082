import django.db.models.deletion
from django.db import migrations, models
from tokens.admission.guards import GUARDS


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Issuance',
            fields=[
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='recipes.recipe')),
                ('issuer_url', models.CharField(help_text='Base address: settings may name another by now.', max_length=500)),
                ('reason', models.CharField(blank=True, help_text='Why it ends; empty before.', max_length=200)),
                ('issued', models.PositiveBigIntegerField(help_text='Tokens, once the issuer has said.', null=True)),
                ('signature', models.BinaryField(default=bytes, help_text="The issuer's Ed25519, of the number.")),
                ('send_after', models.DateTimeField(db_index=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, help_text='That failed, one after the other.')),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
            ],
        ),
        *(guard.operation() for guard in GUARDS),
    ]
