"""Four eyes: one analyst asks, another one approves or declines, and what was approved is published once.

Approval is of content, byte for byte: what was edited afterwards is something else. Every operation is one
transaction, and locks the draft (where there is one) before the approval, as editing and publishing do.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from audit.operations import entry_append
from audit.registry import Action
from ledger.models import Population
from panprivacy.errors import FieldError
from panprivacy.recipe_draft import DEFAULT_POPULATION
from recipes.access import may_publish
from recipes.actions import APPROVAL_ASKED, APPROVED, DECLINED
from recipes.errors import ApprovalNeededError, RecipeStateError
from recipes.models import LIVE, NOTE_LENGTH, Approval, Recipe, content_hash
from recipes.operations import recipe_locked
from storage import clock

VALID = timedelta(days=7)
"""For which something can be published after it was approved."""

ANOTHER, OPERATOR = "another account", "operator"
"""How the log says who approved, of what needed it. The shell is not bound by it."""

NEEDED = "it needs the approval of another analyst"


def approval_needed(population: object) -> bool:
    """Whether publishing for the population of this name needs another analyst; documents of earlier versions
    may name none. Publishing for a population that is not there is refused for that.
    """
    found = Population.objects.filter(name=str(population or DEFAULT_POPULATION)).first()
    return found is not None and found.needs_approval


@transaction.atomic
def draft_approval_ask(
    *, recipe: Recipe, reviewed: str, actor: User, universe: Sequence[str] | None = None
) -> Approval:
    """Ask others to approve of a draft as it stands. Asked twice, it is one request.

    Args:
        reviewed: `draft_hash` of what was shown.
        universe: the items that publishing will list; what is approved is this list and no other.

    Raises:
        RecipeStateError: it is no draft any more, was changed after it was shown, or needs no approval.
    """
    locked = recipe_locked(recipe, Recipe.Status.DRAFT)
    if locked.draft_hash != reviewed:
        raise RecipeStateError("the draft was changed after it was shown; read it once more")
    return _ask(locked, locked.draft, actor, universe)


@transaction.atomic
def content_approval_ask(*, document: Mapping[str, object], actor: User) -> Approval:
    """Ask others to approve of what is stored nowhere else, as a series; as `draft_approval_ask`."""
    return _ask(None, document, actor, None)


def universe_hash(universe: Sequence[str] | None) -> str:
    """SHA-256 of the items of a list, in any order; empty where there is none."""
    if universe is None:
        return ""
    return hashlib.sha256(json.dumps(sorted(universe)).encode()).hexdigest()


def _ask(
    recipe: Recipe | None, document: Mapping[str, object], actor: User, universe: Sequence[str] | None
) -> Approval:
    _require_publisher(actor)
    # The row of the account, so that what is sent twice at once is asked once.
    User.objects.select_for_update(no_key=True).get(pk=actor.pk)
    if not approval_needed(document.get("population")):
        raise RecipeStateError("its population needs no approval")
    now, content, listed = clock.database_now(), content_hash(document), universe_hash(universe)
    asked = Approval.objects.select_for_update().filter(recipe=recipe, state__in=LIVE)
    if recipe is None:
        asked = asked.filter(asked_by=actor, content=content)
    for earlier in asked:
        if (earlier.content, earlier.universe) == (content, listed) and not _expired(earlier, now):
            return earlier  # sent twice
        earlier.state = Approval.State.VOID
        earlier.save(update_fields=["state"])
    approval = Approval.objects.create(
        recipe=recipe,
        document=dict(document),
        content=content,
        universe=listed,
        asked_by=actor,
        asked_at=now,
    )
    _append(approval, APPROVAL_ASKED, actor, "")
    return approval


@transaction.atomic
def approval_decide(
    *,
    approval: Approval,
    reviewed: str,
    approve: bool,
    actor: User,
    universe: str = "",
    note: str = "",
) -> Approval:
    """Approve or decline what another analyst asked about. Sent twice by one account, it is one decision.

    Args:
        reviewed: SHA-256 of what was shown.
        universe: the hash that was shown of the list of items; empty where none was.
        note: why, in one line; needed to decline.

    Raises:
        FieldError: naming `note`.
        RecipeStateError: it is not waiting any more, is something else than was shown, or the account wrote
            or asked for it itself or may not publish (any more).
    """
    note = note.strip()
    if len(note) > NOTE_LENGTH or not note.isprintable():
        raise FieldError("note", f"must be one line of at most {NOTE_LENGTH} characters")
    if not note and not approve:
        raise FieldError("note", "must say why it is declined")
    if approval.recipe is not None:
        recipe_locked(approval.recipe, Recipe.Status.DRAFT)
    locked = Approval.objects.select_for_update().filter(pk=approval.pk).first()
    if locked is None or (locked.content, locked.universe) != (reviewed, universe):
        raise RecipeStateError("it was changed after it was shown; read it once more")
    wanted = Approval.State.APPROVED if approve else Approval.State.DECLINED
    if locked.state == wanted and locked.decided_by_id == actor.pk:
        return locked
    _require_publisher(actor)
    if actor.pk in writers_of(locked):
        raise RecipeStateError("another analyst must decide: this account wrote or asked for it")
    # Who approved may think again until it is published.
    again = locked.state == Approval.State.APPROVED and not approve
    if locked.state != Approval.State.ASKED and not again:
        raise RecipeStateError(f"nobody is asked any more: it is {locked.get_state_display().lower()}")
    locked.state, locked.decided_by, locked.note = wanted, actor, note
    locked.decided_at = clock.database_now()
    locked.save(update_fields=["state", "decided_by", "decided_at", "note"])
    _append(locked, APPROVED if approve else DECLINED, actor, note)
    return locked


def approval_require(
    *,
    recipe: Recipe | None,
    document: Mapping[str, object],
    actor: User | None,
    universe: Sequence[str] | None = None,
) -> str:
    """Whether this may be published as far as four eyes go. Without a lock, it may be out of date at once.

    Args:
        universe: the items that are listed; None where none are, or where that is not known yet.

    Returns:
        Who approved, for the log; empty where nobody needs to.

    Raises:
        ApprovalNeededError: nobody else did, or the approval is spent or expired, or its account is switched
            off, or it is of another list of items.
    """
    if not approval_needed(document.get("population")):
        return ""
    if actor is None:
        return OPERATOR
    _require_list(_usable(recipe, document, actor), universe)
    return ANOTHER


def approval_missing(recipe: Recipe, user: User) -> str:
    """Why an account cannot publish this draft yet, as a clause; empty where four eyes do not hinder it."""
    try:
        approval_require(recipe=recipe, document=recipe.draft, actor=user)
    except ApprovalNeededError as error:
        return str(error)
    return ""


def content_approval_missing(approval: Approval) -> str:
    """The same of what is stored nowhere else, for who asked."""
    try:
        approval_require(recipe=None, document=approval.document, actor=approval.asked_by)
    except ApprovalNeededError as error:
        return str(error)
    return ""


def approval_spend(
    *,
    recipe: Recipe | None,
    document: Mapping[str, object],
    actor: User | None,
    universe: Sequence[str] | None = None,
) -> str:
    """The same in the transaction that publishes: what was approved is published once.

    The draft is locked. Raises ApprovalNeededError.
    """
    said = approval_require(recipe=recipe, document=document, actor=actor, universe=universe)
    if said == ANOTHER and actor is not None:
        approval = _usable(recipe, document, actor, lock=True)
        approval.state = Approval.State.USED
        approval.save(update_fields=["state"])
    return said


def _usable(
    recipe: Recipe | None, document: Mapping[str, object], actor: User, *, lock: bool = False
) -> Approval:
    found = Approval.objects.filter(
        recipe=recipe,
        content=content_hash(document),
        state=Approval.State.APPROVED,
        decided_at__gt=clock.database_now() - VALID,
    )
    if recipe is None:
        found = found.filter(asked_by=actor)
    if lock:
        found = found.select_for_update()
    approval = found.first()
    # Asked anew: the account may have been switched off since, or have written in the draft by hand.
    if approval is None or approval.decided_by_id in writers_of(approval):
        raise ApprovalNeededError(NEEDED)
    if approval.decided_by_id is None or not _is_publisher(approval.decided_by_id):
        raise ApprovalNeededError(f"{NEEDED}: the account that approved may not publish any more")
    return approval


def _require_list(approval: Approval, universe: Sequence[str] | None) -> None:
    if universe is not None and approval.universe != universe_hash(universe):
        raise ApprovalNeededError(f"{NEEDED}: what was approved is not this list of items")


def writers_of(approval: Approval) -> set[int]:
    """Accounts that cannot approve: those that wrote any of it, or asked."""
    found = {approval.asked_by_id}
    if approval.recipe is not None:
        found |= set(approval.recipe.editors.values_list("pk", flat=True))
        found |= {approval.recipe.created_by_id or approval.asked_by_id}
    return found


def approval_of_content(recipe: Recipe, reviewed: str) -> Approval | None:
    """The last request about this content of a draft, given as anybody may have sent it; None where nobody
    asked."""
    return recipe.approvals.filter(content=reviewed).first() if reviewed.isprintable() else None


def approval_of_draft(recipe: Recipe) -> Approval | None:
    """The last request about a draft, of its content as it stands; None where nobody asked."""
    return recipe.approvals.filter(content=recipe.draft_hash).exclude(state=Approval.State.VOID).first()


def approval_expires(approval: Approval) -> datetime | None:
    """Until when it can be published; None where it is not approved."""
    if approval.state != Approval.State.APPROVED or approval.decided_at is None:
        return None
    return approval.decided_at + VALID


def approvals_waiting(user: User) -> QuerySet[Approval]:
    """What this account is asked to approve of: not what it wrote or asked for itself. Oldest first."""
    own = Q(asked_by=user) | Q(recipe__created_by=user) | Q(recipe__editors=user)
    asked = Approval.objects.filter(state=Approval.State.ASKED)
    return asked.exclude(pk__in=asked.filter(own).values("pk")).select_related("asked_by").order_by("pk")


def approvals_list(state: str | None = None) -> QuerySet[Approval]:
    """Every request that was not voided, newest first; only those in a state where one is named."""
    found = Approval.objects.exclude(state=Approval.State.VOID).select_related("asked_by", "decided_by")
    return (found if state is None else found.filter(state=state)).order_by("-pk")


def approvals_answered(user: User) -> QuerySet[Approval]:
    """What others decided lately of what this account asked, and that is not published. Newest first."""
    return Approval.objects.filter(
        Q(recipe=None) | Q(recipe__status=Recipe.Status.DRAFT),
        asked_by=user,
        state__in=(Approval.State.APPROVED, Approval.State.DECLINED),
        decided_at__gt=clock.database_now() - VALID,
    )


def _expired(approval: Approval, now: datetime) -> bool:
    expires = approval_expires(approval)
    return expires is not None and expires <= now


def _require_publisher(user: User) -> None:
    if not _is_publisher(user.pk):
        raise RecipeStateError("this account may not publish (any more)")


def _is_publisher(key: int) -> bool:
    """As the database says now, whatever was read before."""
    user = User.objects.filter(pk=key).first()
    return user is not None and user.is_active and may_publish(user)


def _append(approval: Approval, action: Action, actor: User, note: str) -> None:
    details = {"name": approval.document.get("name"), "content": approval.content}
    if approval.universe:
        details["universe"] = approval.universe
    entry_append(
        action=action,
        subject=approval.subject,
        actor=actor,
        details={**details, "note": note} if note else details,
    )
