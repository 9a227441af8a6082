import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from ledger.guards import GUARDS


EPSILON, DELTA = 4.0, 1e-5


def make_everyone(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """The population of recipes that name none, with a budget: what successive recipes reveal about a device
    adds up."""
    everyone = {"name": "everyone", "description": "Every device.", "epsilon": EPSILON, "delta": DELTA}
    apps.get_model("ledger", "Population").objects.create(**everyone)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Population',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('description', models.CharField(blank=True, max_length=500)),
                ('epsilon', models.FloatField(help_text='Of the budget; null if there is none.', null=True)),
                ('delta', models.FloatField(help_text='Of the budget; null if there is none.', null=True)),
                ('rule', models.CharField(choices=[('filter', 'filter'), ('composed', 'composed')], default='filter', help_text='What may be published within the budget.', max_length=8)),
                ('four_eyes', models.BooleanField(default=False, help_text='Publishing for it needs the approval of another analyst, whatever the site says.')),
                ('attributes', models.JSONField(default=dict, help_text='What devices know of themselves: by name, its values in their order.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ('-pk',),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('delta', None), ('epsilon', None)), models.Q(('delta__isnull', False), ('epsilon__isnull', False)), _connector='OR'), name='population_budget_is_complete')],
            },
        ),
        migrations.CreateModel(
            name='Spending',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recipe', models.CharField(help_text='Identifier of the recipe that spends, or a name for one to come.', max_length=64, null=True, unique=True)),
                ('event', models.JSONField(help_text='Its privacy event, as data.', null=True)),
                ('event_if_half_colludes', models.JSONField(help_text='The same if half of the cohort colludes with the reader.', null=True)),
                ('condition', models.CharField(blank=True, default='', help_text='What both events rely on, as a clause; empty if they hold as they are.', max_length=200)),
                ('at', models.DateTimeField()),
                ('population', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='spendings', to='ledger.population')),
                ('returns', models.OneToOneField(help_text='The line that it takes back.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='returned_by', to='ledger.spending')),
            ],
            options={
                'ordering': ('-pk',),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('event__isnull', False), ('event_if_half_colludes__isnull', False), ('recipe__isnull', False), ('returns', None)), models.Q(('event', None), ('event_if_half_colludes', None), ('recipe', None), ('returns__isnull', False)), _connector='OR'), name='spending_spends_or_returns')],
            },
        ),
        migrations.RunPython(make_everyone, migrations.RunPython.noop),
        *(guard.operation() for guard in GUARDS),
    ]
