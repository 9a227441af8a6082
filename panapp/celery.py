"""The Celery application: `celery -A panapp worker`."""

import os

from celery import Celery

# `celery --app panapp` is an entry point of its own, beside manage.py and wsgi.py.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")

celery_application = Celery("panapp")
celery_application.config_from_object("django.conf:settings", namespace="CELERY")
celery_application.autodiscover_tasks()
