from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='GatewayKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('config_id', models.PositiveSmallIntegerField(help_text='0 to 255.', unique=True)),
                ('kem', models.CharField(choices=[('x-wing', 'x-wing'), ('x25519', 'x25519')], max_length=10)),
                ('config', models.BinaryField(help_text='What is handed out, encoded.')),
                ('sealed', models.BinaryField(help_text='Private key, under the key-encryption key.')),
                ('created_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
    ]
