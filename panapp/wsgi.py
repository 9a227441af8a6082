"""WSGI entry point: `granian --interface wsgi panapp.wsgi:application`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")

from django.core.wsgi import get_wsgi_application  # after the settings module is named

application = get_wsgi_application()
