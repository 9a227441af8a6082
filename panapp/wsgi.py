"""WSGI entry point: `granian --interface wsgi panapp.wsgi:application`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")

from django.core.wsgi import get_wsgi_application  # noqa: E402  # the settings module comes first

application = get_wsgi_application()
