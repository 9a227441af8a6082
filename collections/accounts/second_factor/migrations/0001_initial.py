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
            name='Factor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sealed', models.BinaryField(help_text='160 bits, sealed under the key-encryption key.')),
                ('begun_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(help_text='Null until its first code was right.', null=True)),
                ('last_step', models.BigIntegerField(default=0, help_text='Of the newest code that was used.')),
                ('failures', models.PositiveIntegerField(default=0, help_text='Wrong codes since the last right one.')),
                ('blocked_until', models.DateTimeField(null=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='second_factor', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code_hash', models.CharField(help_text='SHA-256.', max_length=64)),
                ('factor', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to='second_factor.factor')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('factor', 'code_hash'), name='recovery_code_once')],
            },
        ),
    ]
