#!/usr/bin/env python
"""Command line of the product: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    import panapp  # noqa: F401  # puts collections/ on the import path before Django looks for apps

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        # Whoever set a variable wrong needs its name, not how Django came to read it.
        sys.exit(str(error))


if __name__ == "__main__":
    main()
