"""A site in this process, for benchmarks that need one and its database."""

import os
from pathlib import Path

MEMBERS = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 7,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 200,
}


def prepare(directory: Path) -> None:
    """Set the site up: called before anything that reads Django's settings is imported.

    Args:
        directory: of its data; with DATABASE_URL the database is elsewhere.
    """
    os.environ.update({"PANAPP_DATA_DIR": str(directory), "DJANGO_SETTINGS_MODULE": "panapp.settings"})
    import django

    import panapp  # noqa: F401  # puts the apps on the import path

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
