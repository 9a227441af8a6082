import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='BatchFetch',
            fields=[
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='recipes.recipe')),
                ('state', models.CharField(choices=[('asking', 'Waiting for all users'), ('fetching', 'Fetching'), ('fetched', 'Fetched'), ('not_full', 'Closed before all users came'), ('refused', 'Refused')], default='asking', max_length=10)),
                ('received', models.PositiveBigIntegerField(default=0, help_text='Users who have come, in coarse steps, as the shuffler tells.')),
                ('messages', models.PositiveBigIntegerField(default=0, help_text='In the batch, as the shuffler tells.')),
                ('rejected', models.JSONField(default=dict, help_text='Users refused for their token, by reason.')),
                ('parts', models.PositiveIntegerField(default=0)),
                ('count_signature', models.BinaryField(help_text='Of the number of users, by the shuffler; as it came.', max_length=64, null=True)),
                ('fetched', models.PositiveIntegerField(default=0, help_text='Parts that are stored, the first ones.')),
                ('stored', models.PositiveBigIntegerField(default=0, help_text='Messages in them.')),
                ('refusal', models.CharField(blank=True, help_text='Why there will be no batch: a clause.', max_length=300)),
                ('deletion_reason', models.CharField(blank=True, db_column='farewell', help_text='Why the shuffler is to delete it; empty while it is not.', max_length=200)),
                ('is_deleted_there', models.BooleanField(default=False, help_text='It has acknowledged that it did.')),
                ('asked_closed', models.BooleanField(default=False, help_text='Whether it is asked without waiting, because the recipe was closed.')),
                ('send_after', models.DateTimeField(db_index=True)),
                ('attempts', models.PositiveIntegerField(default=0, help_text='That failed, one after the other.')),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'db_table': 'analyzer_intake',
            },
        ),
    ]
