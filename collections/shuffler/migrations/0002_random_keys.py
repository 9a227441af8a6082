import shuffler.models
from django.db import migrations, models


class Migration(migrations.Migration):
    """New rows about devices draw their keys. The tables stay as they are: made anew, as SQLite alters them,
    they would leave copies of their rows in pages that nobody overwrites."""

    dependencies = [
        ('shuffler', '0001_batches'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name=model,
                    name='id',
                    field=models.BigAutoField(
                        default=shuffler.models.random_key, primary_key=True, serialize=False
                    ),
                )
                for model in ('submission', 'submissionnonce')
            ]
        )
    ]
