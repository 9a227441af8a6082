"""Asking the helper, until it answers for good (DAP draft 18, section 3.1)."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import structlog

from dap.leader.models import AggregationJob, CollectionJob, EndNotice, Exchange
from dap.operations import dialect_of
from panprivacy.formats.tls_messages import Message
from panprivacy.protocols.dap.aggregation import AggregationJobInitReq, AggregationJobResp
from panprivacy.protocols.dap.collection import AggregateShare, AggregateShareReq
from panprivacy.protocols.dap.media import media_type
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.failed_requests import LONGEST_WAIT, request_failed

logger = structlog.get_logger(__name__)

LOCATION_ATTEMPTS = 5
"""Consecutive failures to fetch a promised answer after which the request itself is sent again: the place may
have been wrong, or have moved, and the helper knows the request."""

PATIENCE = timedelta(minutes=10)
"""For which a promised answer may take its time; from then on it is shown as one that does not come."""

REFUSED = "refused"
"""Reason of a refusal that has no token in the draft."""


WRONG_FOR = timedelta(hours=1)
"""After so long without an answer that makes sense, one that the helper signed and that makes none ends a
request: its answers are stored, and will be the same tomorrow (DAP draft 18, section 4.4.3.1)."""


Asking = AggregationJob | CollectionJob | EndNotice
"""The rows that are requests to the helper."""

ANSWERS: Mapping[type[Message], type[Message]] = {
    AggregationJobInitReq: AggregationJobResp,
    AggregateShareReq: AggregateShare,
}
"""Request → what answers it."""


def is_wrong_for_good(row: Asking, now: datetime) -> bool:
    """Whether a signed answer that makes no sense is the end of a request, or is asked for once more."""
    return row.failing_since is not None and now - row.failing_since >= WRONG_FOR


class UnexpectedAnswerError(ValueError):
    """An answer that is none to this request: noise, like one that does not decode."""


def exchange_ask(
    row: AggregationJob | CollectionJob,
    *,
    peer: PeerClient,
    resource: str,
    body: bytes,
    message: type[Message],
    now: datetime,
) -> bytes | None:
    """Send a stored request, or fetch the answer that the helper promised for later.

    The bytes are the same every time, so the helper gives the same answer every time. Only a signed refusal
    of the helper ends this: any other answer may be caused by the network.

    Args:
        row: of a task.
        resource: a list of the task, e.g. `aggregation_jobs`.
        body: an encoded `message`.

    Returns:
        The answer's body, in draft 18; None if there is none yet. The row then holds the time of the next
        attempt.

    Raises:
        PeerRefusedError: the helper refused for good.
        InvalidMessageError: the answer is none in the dialect of the task.
    """
    dialect = dialect_of(row.task)
    try:
        if row.location:
            answer = peer.get(row.location)
        else:
            method, path = dialect.creation(bytes(row.task.task_id), resource, row.pk.bytes)
            answer = peer.send(method, path, dialect.write(message, body), media_type(message))
        if answer.body:
            return dialect.read(ANSWERS[message], answer.body)
        location = answer.location or row.location
        # Checked now, while the request can still be sent instead.
        peer.address(location)
    except PeerUnavailableError as error:
        exchange_failed(row, error=str(error), now=now)
        return None
    except PeerRefusedError:
        if not row.location:
            raise
        # The helper has lost what it promised. The request may be sent again, whatever became of the first.
        _wait(row, send_after=now, location="", now=now)
        return None
    later = now + min(answer.retry_after or timedelta(seconds=1), LONGEST_WAIT)
    _wait(row, send_after=later, location=location, now=now)
    return None


def exchange_failed(row: Exchange, *, error: str, now: datetime) -> None:
    """Note what went wrong, and when to try again; after some failures, at the request's own address."""
    location = "" if row.attempts + 1 >= LOCATION_ATTEMPTS else row.location
    request_failed(type(row)._default_manager.all(), row, error=error, now=now, location=location)
    logger.warning("helper_request_failed", request=str(row), attempts=row.attempts + 1, error=error)


def _wait(row: Exchange, *, send_after: datetime, location: str, now: datetime) -> None:
    """Go on after an answer that is for later. That ends no trouble: only an answer for good does."""
    waiting_since = row.waiting_since or now
    troubles = [] if row.failing_since is None else [row.failing_since]
    if now - waiting_since >= PATIENCE:
        troubles.append(waiting_since)
    type(row)._default_manager.filter(pk=row.pk).update(
        send_after=send_after,
        location=location,
        attempts=0,
        waiting_since=waiting_since,
        failing_since=min(troubles, default=None),
        last_error="it promises its answer for later" if troubles else "",
    )
