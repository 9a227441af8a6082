"""Is the process up, and can it do its work?"""

from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from panapp.celery import celery_application

logger = structlog.get_logger(__name__)

BROKER_SECONDS = 2
"""How long the broker may take to answer."""


class _NotReadyError(Exception):
    """A check failed; the message is fit for strangers."""


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers at all. Restart it if not."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 if what this role needs is as it must be; else 503 that names what is not.

    The answer is the same whoever asks, and holds no address and no message of a library.
    """
    checks = {name: _outcome(name, _CHECKS[name]) for name in settings.ROLE.checks}
    well = all(outcome == "ok" for outcome in checks.values())
    return JsonResponse(
        {"status": "ok" if well else "unavailable", "checks": checks}, status=200 if well else 503
    )


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise _NotReadyError


def _broker() -> None:
    with celery_application.connection_for_write(
        connect_timeout=BROKER_SECONDS,
        transport_options={
            **celery_application.conf.broker_transport_options,
            "socket_connect_timeout": BROKER_SECONDS,
            "socket_timeout": BROKER_SECONDS,
        },
    ) as broker:
        broker.ensure_connection(max_retries=1, timeout=BROKER_SECONDS)


def _outcome(name: str, check: Callable[[], None]) -> str:
    try:
        check()
    except (_NotReadyError, Error, OperationalError, OSError) as error:
        # The type only: messages of drivers hold addresses and sometimes passwords.
        logger.warning("not_ready", check=name, error=type(error).__name__)
        return "failed"
    return "ok"


_CHECKS = {"database": _database, "migrations": _migrations, "broker": _broker}
