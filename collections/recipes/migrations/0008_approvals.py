"""Four eyes: who wrote a draft, and who approved it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def remember_editors(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Who wrote in the drafts that there are, as the log says: they must not approve them."""
    users = dict(apps.get_model("auth", "User").objects.values_list("username", "pk"))
    entries = apps.get_model("audit", "Entry").objects.filter(action="draft_saved")
    for draft in apps.get_model("recipes", "Recipe").objects.filter(status="draft"):
        names = set(entries.filter(subject=f"draft {draft.pk}").values_list("actor", flat=True))
        draft.editors.add(*(users[name] for name in names if name in users))


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0009_declared_actions'),
        ('recipes', '0007_population_and_event'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='recipe',
            name='editors',
            field=models.ManyToManyField(help_text='Who wrote any of the draft.', related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(remember_editors, migrations.RunPython.noop),
        migrations.CreateModel(
            name='Approval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('document', models.JSONField(help_text='What is to be published, as in a recipe file.')),
                ('content', models.CharField(help_text='SHA-256 of the document.', max_length=64)),
                ('state', models.CharField(choices=[('asked', 'Waiting'), ('approved', 'Approved'), ('declined', 'Declined'), ('void', 'Void'), ('used', 'Published')], default='asked', max_length=10)),
                ('asked_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(null=True)),
                ('note', models.CharField(blank=True, help_text='Of who decided.', max_length=300)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('recipe', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='recipes.recipe')),
            ],
            options={
                'ordering': ('-pk',),
                'indexes': [models.Index(fields=['state', 'content'], name='recipes_app_state_4f06f5_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('asked', 'approved'))), fields=('recipe',), name='approval_one_at_a_time'), models.CheckConstraint(condition=models.Q(('decided_by', None), models.Q(('decided_by', models.F('asked_by')), _negated=True), _connector='OR'), name='approval_decided_by_another')],
            },
        ),
    ]
