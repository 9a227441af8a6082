import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='JointSum',
            fields=[
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='recipes.recipe')),
                ('state', models.CharField(choices=[('sending', 'The helper checks the list'), ('listed', 'Both signed the list'), ('counted', 'Decrypted'), ('refused', 'Refused')], default='sending', max_length=10)),
                ('reports', models.PositiveBigIntegerField(default=0, help_text='That the helper has checked.')),
                ('last_nonce', models.BinaryField(default=b'', help_text='Of the last part that it checked.', max_length=16)),
                ('digests', models.BinaryField(default=b'', help_text='Of its parts, 32 bytes each.')),
                ('total', models.BinaryField(default=b'', help_text='Of their ciphertexts; empty of none.', max_length=96)),
                ('list', models.CharField(blank=True, help_text='SHA-256 of the list, once both signed it.', max_length=64)),
                ('helper_signature', models.BinaryField(help_text='Of the list.', max_length=64, null=True)),
                ('leader_part', models.BinaryField(help_text='Of the decryption.', max_length=112, null=True)),
                ('helper_part', models.BinaryField(max_length=112, null=True)),
                ('count', models.PositiveBigIntegerField(help_text='Of ones among the reports.', null=True)),
                ('refusal', models.CharField(blank=True, help_text='Why there is no count: a clause.', max_length=300)),
                ('deletion_reason', models.CharField(blank=True, help_text='Why the helper is to delete its key; empty while it is not.', max_length=200)),
                ('is_deleted_there', models.BooleanField(default=False, help_text='It has acknowledged that it did.')),
                ('send_after', models.DateTimeField(db_index=True)),
                ('attempts', models.PositiveIntegerField(default=0, help_text='That failed, one after the other.')),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
            ],
        ),
    ]
