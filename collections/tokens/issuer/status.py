"""What an issuer says publicly about itself: its recipes, how many tokens it issued, its log."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.models import Count

from panprivacy.formats.rounded_counts import rounded_count
from panprivacy.formats.times import format_time
from panprivacy.recipe.document import recipe_of
from partners.required_settings import required
from partners.server_status import recipe_status, server_status, time_status
from tokens.issuer.models import Handle, Issuance


def status(issuances: Sequence[Issuance]) -> dict[str, Any]:
    """Everything that a page with these recipes shows, as plain JSON values."""
    issuing = [issuance for issuance in issuances if issuance.state == Issuance.State.ISSUING]
    counts = tokens_among(issuing)
    return {
        **server_status(required(settings.ISSUER_URL, "PANAPP_ISSUER_URL")),
        "attester": settings.ATTESTER_URL,
        "recipes": [_public(issuance, counts[issuance.pk]) for issuance in issuances],
    }


def tokens_among(issuances: Sequence[Issuance]) -> Counter[int]:
    """Tokens that were issued so far and not withheld, by the rows' keys; exact: for operators only."""
    handles = Handle.objects.filter(issuance__in=issuances, withheld=False)
    return Counter(dict(handles.values_list("issuance").annotate(Count("pk")).order_by()))


def _coarse_tokens(issuance: Issuance, count: int) -> int | None:
    """While it issues, a reader must not see that one more device has asked (rounded_counts.py). None if the
    document cannot be read here: the steps depend on it."""
    try:
        return rounded_count(count, recipe_of(issuance.document).calibrated_statistic.cohort_size)
    except ValueError:
        return None


def _public(issuance: Issuance, count: int) -> dict[str, Any]:
    return {
        "identifier": issuance.identifier,
        **recipe_status(issuance.document),
        "tokens": _coarse_tokens(issuance, count),
        "issued": issuance.issued,
        "state": issuance.state,
        "state_said": issuance.get_state_display(),
        "created_at": format_time(issuance.created_at),
        "ended_at": time_status(issuance.ended_at),
        "outcome": issuance.outcome,
    }
