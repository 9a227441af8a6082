"""Is the process up, and can it do its work?"""

from collections.abc import Callable

import structlog
from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from panapp.celery import celery_application
from reports.object_store import store_check
from storage import clock
from storage.database import is_migrated
from storage.key_service import KeyServiceError
from storage.write_check import require_room

logger = structlog.get_logger(__name__)

LARGEST_SKEW = 10.0
"""Seconds between the clocks of a machine and of the database that are still well."""

BROKER_SECONDS = 2
"""How long the broker may take to answer."""


class _NotReadyError(Exception):
    """A check failed; the message is fit for strangers."""


class _IncompleteError(Exception):
    """A loss on which nothing else depends: no reason to stop serving. A message is fit for strangers, and
    shown."""


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers at all. Restart it if not."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 if everything that this role needs works; otherwise 503 that names what does not.

    The answer is the same for all who ask, and holds no address and no message of a library.
    """
    checks: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for name in settings.ROLE.checks:
        # A database that does not answer is waited for once.
        hopeless = name in _OF_THE_DATABASE and checks.get("database") == "failed"
        checks[name] = "failed" if hopeless else _outcome(name, _CHECKS[name], reasons)
    well = "failed" not in checks.values()
    return JsonResponse(
        {
            "status": "ok" if well else "unavailable",
            "checks": checks,
            **({"reasons": reasons} if reasons else {}),
        },
        status=200 if well else 503,
    )


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _migrations() -> None:
    try:
        well = is_migrated()
    except CommandError:
        well = False
    if not well:
        raise _NotReadyError


def _keys() -> None:
    # Here: a role without this check seals nothing.
    from storage.erasable_keys import keys_lost

    try:
        lost, needed = keys_lost()
    except KeyServiceError as error:
        logger.error("key_service_failed", reason=str(error))
        raise _NotReadyError from error
    if lost:
        logger.error("keys_lost", lost=lost, needed=needed)
    if lost == needed > 0:
        raise _NotReadyError
    if lost:
        raise _IncompleteError


def _writes() -> None:
    require_room((settings.STREAM_KEYS_DIR, settings.ERASABLE_KEYS_DIR))


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


def _store() -> None:
    store_check()


def _clock() -> None:
    """This process's clock and those of all machines that work here, compared with the database's."""
    if abs(clock.process_ahead()) > LARGEST_SKEW:
        raise _NotReadyError
    notes = clock.recent_notes()
    if any(abs(row.ahead_seconds) > LARGEST_SKEW for row in notes):
        raise _NotReadyError
    # Closings wait, and everything else continues.
    if any(row.doubted_at is not None for row in notes):
        raise _IncompleteError


def _series() -> None:
    """Rounds of series that are due, and could not be published."""
    # Here: partners have no series.
    from series.selectors import rounds_failing

    failing = rounds_failing().first()
    if failing is not None:
        raise _IncompleteError(
            f"Round {failing.number} of series {failing.series.identifier} could not be published so far; "
            "the page of the series says why."
        )


def _log() -> None:
    """The public log, which signs nothing more once it lost entries.

    What waits is signed here: if no worker runs, a process may have died before it signed, or have no key.
    """
    # Here, as above.
    from log.public_log.immediate_signing import sign_now
    from log.public_log.lost_states import lost_state

    sign_now()
    lost = lost_state()
    if lost is not None:
        raise _IncompleteError(
            f"The public log signed a state of {lost.size} entries that it has lost, and signs nothing more: "
            "the operations guide says what to do."
        )


def _outcome(name: str, check: Callable[[], None], reasons: dict[str, str]) -> str:
    try:
        check()
    except _IncompleteError as error:
        if str(error):
            reasons[name] = str(error)
        return "incomplete"
    except (_NotReadyError, Error, OperationalError, OSError) as error:
        # The type only: messages of drivers hold addresses and sometimes passwords.
        logger.warning("not_ready", check=name, error=type(error).__name__)
        return "failed"
    return "ok"


_OF_THE_DATABASE = {"migrations", "keys", "writes", "clock", "log", "series"}
_CHECKS = {
    "database": _database,
    "migrations": _migrations,
    "keys": _keys,
    "writes": _writes,
    "broker": _broker,
    "store": _store,
    "clock": _clock,
    "log": _log,
    "series": _series,
}
