"""Four eyes: one analyst asks, another one approves or declines, and what was approved is published once.

Approval is of content, byte for byte: edited content needs a new approval. Every operation is one
transaction, and locks the draft (if there is one) before the approval, as editing and publishing do.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from ledger.models import Population
from log.audit.operations import entry_append
from log.audit.registry import Action
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import DEFAULT_POPULATION
from recipes.access import may_publish
from recipes.actions import APPROVAL_ASKED, APPROVED, DECLINED
from recipes.errors import ApprovalNeededError, RecipeStateError
from recipes.models import APPROVAL_VALID, LIVE, NOTE_LENGTH, Approval, Recipe, content_hash
from recipes.operations import recipe_locked
from storage import clock

ANOTHER, OPERATOR = "another account", "operator"
"""How the log names the approver of what needed approval; commands of the operator's shell need no approval.
"""

NEEDED = "it needs the approval of another analyst"


def approval_needed(population: object) -> bool:
    """Whether publishing for the population of this name needs another analyst.

    Args:
        population: as in a recipe file; empty for the default one. Publishing for one that does not exist
            is refused for that.
    """
    found = Population.objects.filter(name=str(population or DEFAULT_POPULATION)).first()
    return found is not None and found.needs_approval


@transaction.atomic
def draft_approval_ask(
    *, recipe: Recipe, reviewed: str, actor: User, universe: Sequence[str] | None = None
) -> Approval:
    """Ask others to approve a draft with its present content. Asked twice, it is one request.

    Args:
        reviewed: `draft_hash` of what was shown.
        universe: the items that publishing will list; what is approved is this list and no other.

    Raises:
        RecipeStateError: it is not a draft, was changed after it was shown, or needs no approval.
    """
    locked = recipe_locked(recipe, Recipe.Status.DRAFT)
    if locked.draft_hash != reviewed:
        raise RecipeStateError("the draft was changed after it was shown; read it once more")
    return _ask(locked, locked.draft, actor, universe)


@transaction.atomic
def content_approval_ask(*, document: Mapping[str, object], actor: User) -> Approval:
    """Ask others to approve what is stored nowhere else, such as a series; like `draft_approval_ask`."""
    return _ask(None, document, actor, None)


def universe_hash(universe: Sequence[str] | None) -> str:
    """SHA-256 of the items of a list, in any order; empty if there is none."""
    if universe is None:
        return ""
    return hashlib.sha256(json.dumps(sorted(universe)).encode()).hexdigest()


def _ask(
    recipe: Recipe | None, document: Mapping[str, object], actor: User, universe: Sequence[str] | None
) -> Approval:
    _require_publisher(actor)
    # The row of the account, so that what is repeated request at once is asked once.
    User.objects.select_for_update(no_key=True).get(pk=actor.pk)
    if not approval_needed(document.get("population")):
        raise RecipeStateError("its population needs no approval")
    now, content, listed = clock.database_now(), content_hash(document), universe_hash(universe)
    asked = Approval.objects.select_for_update().filter(recipe=recipe, state__in=LIVE)
    if recipe is None:
        asked = asked.filter(asked_by=actor, content=content)
    for earlier in asked:
        if (earlier.content, earlier.universe) == (content, listed) and not _expired(earlier, now):
            return earlier  # repeated request
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
        universe: the shown hash of the list of items; empty if none was shown.
        note: why, in one line; needed to decline.

    Raises:
        FieldError: naming `note`.
        RecipeStateError: it is not waiting, is something else than was shown, or the account wrote
            or asked for it itself or may not publish.
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
    # An approval can be withdrawn until publication.
    again = locked.state == Approval.State.APPROVED and not approve
    if locked.state != Approval.State.ASKED and not again:
        raise RecipeStateError(f"no approval is pending: it is {locked.get_state_display().lower()}")
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
        universe: the items that are listed; None if none are, or if that is not known yet.

    Returns:
        The approving account, for the log; empty if no approval is needed.

    Raises:
        ApprovalNeededError: no other account approved, or the approval is spent or expired, or its account is
            switched off, or it is of another list of items.
    """
    if not approval_needed(document.get("population")):
        return ""
    if actor is None:
        return OPERATOR
    _require_list(_usable(recipe, document, actor), universe)
    return ANOTHER


def approval_missing(recipe: Recipe, user: User) -> str:
    """Why an account cannot publish this draft yet, as a clause; empty if four eyes do not hinder it."""
    try:
        approval_require(recipe=recipe, document=recipe.draft, actor=user)
    except ApprovalNeededError as error:
        return str(error)
    return ""


def content_approval_missing(approval: Approval) -> str:
    """The same for what is stored nowhere else, for the account that asked."""
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
        decided_at__gt=clock.database_now() - APPROVAL_VALID,
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
        raise ApprovalNeededError(f"{NEEDED}: the account that approved may not publish")
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
    """The last request about this content of a draft, which may come from an untrusted request; None if there
    was none."""
    return recipe.approvals.filter(content=reviewed).first() if reviewed.isprintable() else None


def approval_of_draft(recipe: Recipe) -> Approval | None:
    """The last request about a draft, of its present content; None if there was none."""
    return recipe.approvals.filter(content=recipe.draft_hash).exclude(state=Approval.State.VOID).first()


def approvals_waiting(user: User) -> QuerySet[Approval]:
    """What this account is asked to approve of: not what it wrote or asked for itself. Oldest first."""
    own = Q(asked_by=user) | Q(recipe__created_by=user) | Q(recipe__editors=user)
    asked = Approval.objects.filter(state=Approval.State.ASKED)
    return asked.exclude(pk__in=asked.filter(own).values("pk")).select_related("asked_by").order_by("pk")


def approvals_list(state: str | None = None) -> QuerySet[Approval]:
    """Every request that was not voided, newest first; only those in a state if one is named."""
    found = Approval.objects.exclude(state=Approval.State.VOID).select_related("asked_by", "decided_by")
    return (found if state is None else found.filter(state=state)).order_by("-pk")


def approvals_answered(user: User) -> QuerySet[Approval]:
    """What others decided lately of what this account asked, and that is not published. Newest first."""
    return Approval.objects.filter(
        Q(recipe=None) | Q(recipe__status=Recipe.Status.DRAFT),
        asked_by=user,
        state__in=(Approval.State.APPROVED, Approval.State.DECLINED),
        decided_at__gt=clock.database_now() - APPROVAL_VALID,
    )


def _expired(approval: Approval, now: datetime) -> bool:
    return approval.expires_at is not None and approval.expires_at <= now


def _require_publisher(user: User) -> None:
    if not _is_publisher(user.pk):
        raise RecipeStateError("this account may not publish")


def _is_publisher(key: int) -> bool:
    """Read again from the database, whatever was read already."""
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
