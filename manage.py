#!/usr/bin/env python
"""Command line of the product: `python manage.py help` lists the commands."""

import os
import sys

from panprivacy.formats import console


def main() -> None:
    # Until the command is loaded.
    console.end_when_interrupted()

    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import BaseCommand, ManagementUtility

    import panapp  # noqa: F401  # puts collections/ on the import path before Django looks for apps

    class Commands(ManagementUtility):
        def fetch_command(self, subcommand: str) -> BaseCommand:
            command = super().fetch_command(subcommand)
            console.raise_when_interrupted()
            return command

    try:
        if sys.argv[1:2] == ["collect"]:
            # It loads settings and apps itself, once the files are checked: that takes longer than the check.
            from simulations.management.commands.collect import Command

            console.raise_when_interrupted()
            Command().run_from_argv(sys.argv)
        else:
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
            Commands(sys.argv).execute()
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        # The message names the wrong variable; a traceback would only show how Django read it.
        sys.exit(str(error))


if __name__ == "__main__":
    console.run(main)
