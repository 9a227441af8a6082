#!/usr/bin/env python
"""Command line of the product: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
    from django.core.management import execute_from_command_line

    import panapp  # noqa: F401  # puts collections/ on the import path before Django looks for apps

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
