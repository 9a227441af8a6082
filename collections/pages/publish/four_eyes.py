"""What pages show and offer if another analyst must approve."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest

from log.audit.access import signed_in_user
from publishing.approvals import (
    approval_decide,
    approval_missing,
    approval_of_draft,
    writers_of,
)
from recipes.errors import RecipeStateError
from recipes.models import Approval, Recipe


@dataclass(frozen=True)
class FourEyes:
    """A box on a page.

    Attributes:
        approval: the last request about what is shown; None if there was none.
        missing: why it cannot be published yet, as a clause; empty if it can.
        may_ask, may_decide: what the reader may do.
        expires: until when it can be published; None unless it is approved.
    """

    approval: Approval | None
    missing: str
    may_ask: bool
    may_decide: bool
    expires: datetime | None

    def __bool__(self) -> bool:
        return self.approval is not None or bool(self.missing)


def four_eyes_of_draft(recipe: Recipe, reader: User) -> FourEyes:
    """For the present content of a draft."""
    return four_eyes_of(approval_of_draft(recipe), approval_missing(recipe, reader), reader)


def four_eyes_of(approval: Approval | None, missing: str, reader: User) -> FourEyes:
    """Of what was asked about, or not yet."""
    states, state = Approval.State, approval and approval.state
    waits = state in (states.ASKED, states.APPROVED)
    return FourEyes(
        approval=approval,
        missing=missing,
        may_ask=bool(missing) and state != states.ASKED,
        may_decide=waits and approval is not None and reader.pk not in writers_of(approval),
        expires=None if approval is None else approval.expires_at,
    )


def decided(request: HttpRequest, approval: Approval | None) -> str:
    """Approve or decline as a form chooses: the outcome, as a sentence. Raises as `approval_decide`."""
    if approval is None:
        raise RecipeStateError("no approval was asked for what was shown")
    approve = request.POST.get("decision") == "approve"
    approval_decide(
        approval=approval,
        reviewed=request.POST.get("reviewed", ""),
        universe=request.POST.get("universe_hash", ""),
        approve=approve,
        note=request.POST.get("note", ""),
        actor=signed_in_user(request),
    )
    if approve:
        return "Approved. It can be published for 7 days, once, and as it is now."
    return "Declined. Who asked reads your note."
