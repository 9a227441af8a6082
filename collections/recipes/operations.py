"""Drafts of recipes, and the private keys of published ones. Every operation is one transaction."""

from collections.abc import Mapping

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from log.audit.operations import entry_append
from panprivacy.encryption import load_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import RecipeLimits, local_epsilon
from panprivacy.recipe.draft import RecipeDraft
from recipes.actions import DRAFT_DELETED, DRAFT_SAVED
from recipes.errors import RecipeStateError
from recipes.models import (
    LIVE,
    MOST_TAGS,
    TAG_LENGTH,
    Approval,
    AskedAgain,
    NamedEvent,
    Recipe,
    RecipeKey,
    Tag,
)
from recipes.planner.guarantees import Guaranteed
from storage.erasable_keys import KeyErasedError
from storage.sealing import secret_unseal
from web.strict_json import CONTROLS


@transaction.atomic
def recipe_draft_save(
    *,
    members: Mapping[str, object],
    actor: User | None,
    recipe: Recipe | None = None,
    origin: Recipe | None = None,
) -> Recipe:
    """Create a draft, or replace the content of one. The log records the actor, and what changed.

    Args:
        members: fields of a recipe file. Whether there is such a population is asked when it is published.
        recipe: the draft to change.
        origin: of a new draft, the recipe that it asks again.

    Raises:
        FieldError: a field is unknown, missing or out of range.
        RecipeStateError: the recipe has been published, or its origin has not.
    """
    if origin is not None and origin.status == Recipe.Status.DRAFT:
        raise RecipeStateError("only a published recipe can be asked again")
    is_new = recipe is None
    recipe = Recipe(created_by=actor) if recipe is None else recipe_locked(recipe, Recipe.Status.DRAFT)
    before: Mapping[str, object] = recipe.draft if recipe.pk else {}
    recipe_fill(recipe, RecipeDraft.from_mapping(members))
    if is_new and origin is not None:
        AskedAgain.objects.create(recipe=recipe, origin=origin)
    after = recipe.draft
    changed = {
        name: [before.get(name), after.get(name)]
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }
    if changed:
        if actor is not None:
            recipe.editors.add(actor)
        # Even if a later edit takes this one back: the approving analyst has not seen what lay between.
        recipe.approvals.filter(state__in=LIVE).update(state=Approval.State.VOID)
        entry_append(action=DRAFT_SAVED, subject=_subject(recipe), actor=actor, details=changed)
    return recipe


def require_within_limits(draft: RecipeDraft, guaranteed: Guaranteed | None) -> None:
    """FieldError naming the field if this site does not ask real devices for this.

    Args:
        guaranteed: what the draft guarantees; None to compute it here.
    """
    limits, whose = site_limits(), "this site"
    limits.require(draft.as_dict(), whose=whose)
    local = local_epsilon(draft.calibrated) if guaranteed is None else guaranteed.numbers.local_epsilon
    limits.require_local_epsilon(local, draft.parameters, whose=whose)


def site_limits() -> RecipeLimits:
    """How far recipes for real devices may go here."""
    return RecipeLimits(
        smallest_cohort=settings.SMALLEST_COHORT,
        largest_epsilon=settings.LARGEST_EPSILON,
        largest_local_epsilon=settings.LARGEST_LOCAL_EPSILON,
        largest_delta=settings.LARGEST_DELTA,
    )


def recipe_fill(recipe: Recipe, draft: RecipeDraft) -> None:
    """Give a recipe the content of a draft, and store it."""
    recipe.name, recipe.question, recipe.statistic = draft.name, draft.question, draft.statistic
    recipe.cohort_size = draft.plain_statistic.cohort_size
    recipe.population, recipe.event = draft.population, draft.event_name or ""
    recipe.draft = draft.as_dict()
    recipe.save()
    recipe.named_events.all().delete()
    NamedEvent.objects.bulk_create(NamedEvent(recipe=recipe, name=name) for name in draft.event_names)


def draft_repetition_keep(*, recipe: Recipe, repetition: Mapping[str, object]) -> None:
    """Keep with a draft how often it is meant to be asked; nothing follows from it until a series is
    published."""
    Recipe.objects.filter(pk=recipe.pk, status=Recipe.Status.DRAFT).update(repetition=dict(repetition))


@transaction.atomic
def recipe_draft_delete(*, recipe: Recipe, actor: User | None) -> None:
    """Delete a draft. Raises RecipeStateError for a recipe that was published."""
    locked = recipe_locked(recipe, Recipe.Status.DRAFT)
    subject, details = _subject(locked), {"name": locked.name, "content": locked.draft_hash}
    locked.delete()
    entry_append(action=DRAFT_DELETED, subject=subject, actor=actor, details=details)


@transaction.atomic
def recipe_tag(*, recipe: Recipe, tags: object) -> list[str]:
    """Replace the tags of a recipe or a draft; spaces around a tag and repetitions are dropped.

    Returns:
        The tags that it has, in their order.

    Raises:
        FieldError: named `tags`: no list, too many, or one that is no text, too long, or has a comma or a
            control character.
    """
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise FieldError("tags", "must be a list of texts")
    if any("," in tag or CONTROLS.search(tag) for tag in tags):
        raise FieldError("tags", "must have no commas and no control characters")
    names = sorted({tag.strip() for tag in tags} - {""})
    if any(len(name) > TAG_LENGTH for name in names):
        raise FieldError("tags", f"must have 1 to {TAG_LENGTH} characters each")
    if len(names) > MOST_TAGS:
        raise FieldError("tags", f"must be at most {MOST_TAGS}, not {len(names):,}")
    # Two requests at once leave the tags of the one that came last.
    Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
    recipe.tags.exclude(name__in=names).delete()
    Tag.objects.bulk_create((Tag(recipe=recipe, name=name) for name in names), ignore_conflicts=True)
    return names


def recipe_private_key(*, recipe: Recipe) -> PrivateKey:
    """The recipe's private key, decrypted in memory.

    Raises:
        RecipeKey.DoesNotExist: it is deleted.
        KeyLostError: it is not, and cannot be opened.
    """
    key = RecipeKey.objects.get(recipe=recipe)
    try:
        encoded = secret_unseal(key.sealed, kind=b"", owner=str(recipe.identifier).encode())
    except KeyErasedError as error:
        raise RecipeKey.DoesNotExist from error
    return load_private_key(key.scheme, encoded)


def recipe_locked(recipe: Recipe, required: Recipe.Status) -> Recipe:
    """The recipe with its row locked; RecipeStateError unless it has this status."""
    locked = Recipe.objects.select_for_update().filter(pk=recipe.pk).first()
    if locked is None:
        raise RecipeStateError("the recipe does not exist")
    status_require(locked, required)
    return locked


def status_require(recipe: Recipe, required: Recipe.Status) -> None:
    """RecipeStateError unless the recipe has this status."""
    if recipe.status != required:
        raise RecipeStateError(
            f"the recipe is {recipe.get_status_display().lower()}, not {required.label.lower()}"
        )


def _subject(draft: Recipe) -> str:
    return f"draft {draft.pk}"
