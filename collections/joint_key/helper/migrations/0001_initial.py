from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='JointRecipe',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.CharField(max_length=64, unique=True)),
                ('document', models.TextField(help_text='Canonical JSON.')),
                ('sealed', models.BinaryField(help_text='Our half of the secret key; empty once it ended.', null=True)),
                ('state', models.CharField(choices=[('open', 'Open'), ('signed', 'List signed'), ('ended', 'Ended')], default='open', max_length=10)),
                ('digests', models.BinaryField(default=b'', help_text='Of the parts that were checked, 32 bytes each.')),
                ('reports', models.PositiveBigIntegerField(default=0, help_text='In them.')),
                ('last_nonce', models.BinaryField(default=b'', max_length=16)),
                ('total', models.BinaryField(default=b'', help_text='Of all ciphertexts; empty of none.', max_length=96)),
                ('list', models.CharField(blank=True, help_text='SHA-256 of the list that we signed.', max_length=64)),
                ('part', models.BinaryField(help_text='Our part of the decryption, once given.', max_length=112, null=True)),
                ('outcome', models.CharField(blank=True, help_text='Why it ended.', max_length=200)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='WaitingKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request', models.BinaryField(help_text='Chosen by the leader.', max_length=16, unique=True)),
                ('context', models.BinaryField(help_text='What the key is for.', max_length=32)),
                ('key', models.BinaryField(help_text='Our half of the key.', max_length=272)),
                ('sealed', models.BinaryField(help_text='Its secret, under the key-encryption key.')),
                ('leader_commitment', models.BinaryField(help_text="To the leader's half of the key.", max_length=32)),
                ('leader_key', models.BinaryField(default=b'', help_text="The leader's half, once it came.", max_length=272)),
                ('string', models.BinaryField(default=b'', help_text='Our half of the common strings.', max_length=416)),
                ('leader_string_commitment', models.BinaryField(default=b'', max_length=32)),
                ('created_at', models.DateTimeField()),
            ],
        ),
    ]
