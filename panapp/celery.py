"""The Celery application: `celery -A panapp worker`."""

import os
from contextlib import suppress
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, worker_ready

from web.process_group import end_worker_and_beat_together

# `celery --app panapp` is an entry point of its own, like manage.py and wsgi.py.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
# Workers and the beat would check the whole project at each start, and load every page for it: a third of the
# start. `manage.py check` does that.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

celery_application = Celery("panapp")
celery_application.config_from_object("django.conf:settings", namespace="CELERY")
celery_application.autodiscover_tasks()
end_worker_and_beat_together()


@worker_ready.connect
def _unqueue(**_: object) -> None:
    """What was sent while no worker ran may be lost, and would be sent again late."""
    # Apps are loaded at this point.
    from django.db import Error

    from storage.periodic import periodic_unqueue

    with suppress(Error):  # beat sends it again, after a while
        periodic_unqueue()


@celeryd_after_setup.connect
def _load_answers(instance: Any, **_: object) -> None:
    """Load what answers need before children are forked: they share it, and the first preview is fast."""
    from django.conf import settings
    from django.utils.module_loading import autodiscover_modules

    if settings.PREVIEW_QUEUE in instance.app.amqp.queues.consume_from:
        autodiscover_modules("answers")
