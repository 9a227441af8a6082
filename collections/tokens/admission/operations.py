"""Notifies the issuer that a recipe has ended, until the issuer has reported how many tokens it issued."""

from datetime import datetime, timedelta
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction

from panprivacy.recipe.token import tokens_of
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.failed_requests import request_failed
from partners.issuer_calls import issuance_end_ask
from recipes.errors import UnreadableRecipeError
from recipes.models import Recipe
from recipes.steps import step_due
from tokens.admission.models import REASON_LENGTH, Issuance
from web.transport import Transport, https_transport

logger = structlog.get_logger(__name__)

LEASE = timedelta(minutes=5)
"""For which a worker has a row for itself; the time limit of a task."""

REQUEST_SECONDS = 10.0
"""For one request: the answer is a number. A silent issuer holds a worker for at most this long."""

MOST_AT_ONCE = 20
"""Recipes that one task handles; the next task handles the others."""

_transport: Transport = partial(https_transport, seconds=REQUEST_SECONDS)


def issuance_begin(*, recipe: Recipe, issuer_url: str) -> None:
    """Note who issues; call it in the transaction that publishes the recipe."""
    Issuance.objects.create(recipe=recipe, issuer_url=issuer_url)


def issuance_end(*, recipe: Recipe, reason: str, now: datetime) -> None:
    """Have the issuer notified; call it in the transaction that closes the recipe. The first reason stays."""
    Issuance.objects.filter(recipe=recipe, reason="").update(reason=reason[:REASON_LENGTH], send_after=now)


@transaction.atomic
def issuances_take(*, now: datetime) -> list[int]:
    """Keys of rows whose issuer is due to be notified, leased to the caller."""
    due = Issuance.objects.select_for_update(skip_locked=True).filter(issued=None, send_after__lte=now)
    taken = list(due.order_by("send_after").values_list("pk", flat=True)[:MOST_AT_ONCE])
    Issuance.objects.filter(pk__in=taken).update(send_after=now + LEASE)
    return taken


def issuances_drive(*, taken: list[int], now: datetime, transport: Transport = _transport) -> None:
    """Notify the issuers of these. May run at any time, twice at once, or die anywhere.

    After an issuer did not answer, its other recipes are not tried: they count as unanswered, too.
    """
    silent: dict[str, str] = {}
    for issuance in Issuance.objects.filter(pk__in=taken, issued=None).select_related("recipe"):
        error = silent.get(issuance.issuer_url)
        if error is None:
            try:
                _tell(issuance, transport)
                continue
            except PeerUnavailableError as found:
                error = silent[issuance.issuer_url] = str(found)
            except PeerRefusedError as found:
                # Whatever its objection, it is notified again: its key must be deleted, and the result waits
                # for it.
                error = f"the issuer refuses: {found}"
            except UnreadableRecipeError as found:
                error = str(found)
        _failed(issuance, error, now)


def _tell(issuance: Issuance, transport: Transport) -> None:
    recipe = issuance.recipe
    admission = tokens_of(recipe.published)
    issuer = PeerClient(
        url=issuance.issuer_url,
        verification_key=admission.issuer_key,
        signing_key=settings.SIGNING_KEY,
        transport=transport,
    )
    count = issuance_end_ask(
        issuer,
        identifier=str(recipe.identifier),
        reason=issuance.reason,
        issuer_key=admission.issuer_key,
    )
    with transaction.atomic():
        # Only if there is no answer yet: the first one is final, and the database would refuse another.
        Issuance.objects.filter(pk=issuance.pk, issued=None).update(
            issued=count.issued,
            signature=count.signature,
            attempts=0,
            failing_since=None,
            last_error="",
        )
        step_due(recipe=recipe)


def _failed(issuance: Issuance, error: str, now: datetime) -> None:
    request_failed(Issuance.objects.filter(issued=None), issuance, error=error, now=now)
    logger.warning("issuer_request_failed", recipe=issuance.recipe.identifier, error=error)
