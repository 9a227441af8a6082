import django.db.models.deletion
from django.db import migrations, models

from recipes.guards import ISSUED


class Migration(migrations.Migration):
    dependencies = [
        ("recipes", "0008_approvals"),
    ]

    operations = [
        migrations.CreateModel(
            name="IssuerSignature",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("signature", models.BinaryField(help_text="Ed25519 over what this site signs too, 64 bytes.")),
                ("recipe", models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="issuer_signature", to="recipes.recipe")),
            ],
        ),
        ISSUED.operation(),
    ]
