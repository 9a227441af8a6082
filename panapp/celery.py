"""The Celery application: `celery -A panapp worker`."""

from celery import Celery

celery_application = Celery("panapp")
celery_application.config_from_object("django.conf:settings", namespace="CELERY")
celery_application.autodiscover_tasks()
