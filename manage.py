#!/usr/bin/env python
"""Command line of the product: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    import panapp  # noqa: F401  # puts collections/ on the import path before Django looks for apps

    try:
        if sys.argv[1:2] == ["collect"]:
            # It loads settings and apps itself, once the files are checked: that takes longer than the check.
            from panapp.management.commands.collect import Command

            Command().run_from_argv(sys.argv)
        else:
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        # Whoever set a variable wrong needs its name, not how Django came to read it.
        sys.exit(str(error))


if __name__ == "__main__":
    main()
