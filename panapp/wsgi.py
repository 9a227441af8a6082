"""WSGI entry point: `granian --interface wsgi panapp.wsgi:application`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application  # after the settings module is named

from reports.device_origins import DeviceOrigins
from reports.ingest import Application, Ingest
from web.process_group import end_with_server
from web.static_files import static_files_prepare

if settings.LOCAL:
    end_with_server()
    django.setup(set_prefix=False)
    # Before the middleware lists the files.
    static_files_prepare()
application: Application = get_wsgi_application()
if settings.ROLE.ingest:
    application = Ingest(application, settings.ROLE.ingest)
if settings.DEVICE_ORIGINS:
    asked = (*settings.ROLE.oblivious, *settings.ROLE.direct)
    application = DeviceOrigins(application, settings.ROOT_URLCONF, asked, settings.DEVICE_ORIGINS)
