"""Publishing and closing recipes. Every operation is one transaction with its audit entry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from ledger.selectors import population_named
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.round import RoundPlace
from publishing import TRUST_MODELS, configured_partners, others_of
from publishing.admission import (
    Admitting,
    AgreedIssuer,
    admitting_here,
    issuer_agree,
    require_admitted,
    tokens_ask,
)
from publishing.approvals import approval_require, approval_spend
from publishing.interface import Partners, Prepared, Wish
from publishing.target import Targeted, target_require
from recipes.access import device_key_new
from recipes.actions import RECIPE_CLOSED, RECIPE_PUBLISHED
from recipes.budget import Affordable, affordable_require, saying_what_fits, spend, spent_with
from recipes.cost import Cost
from recipes.errors import RecipeStateError
from recipes.log_entries import recipe_entry_append
from recipes.models import Recipe, RecipeGuarantees
from recipes.operations import recipe_fill, recipe_locked, require_within_limits, status_require
from recipes.planner.guarantees import Guaranteed, guaranteed_here, guarantees_require
from recipes.sealing import with_kem
from recipes.steps import step_begin, step_due
from storage import clock
from storage.signing_key import signing_key
from tokens.admission.operations import issuance_end


def recipe_publish(
    *,
    recipe: Recipe,
    actor: User | None,
    reviewed: str | None = None,
    simulation: bool = False,
    partners: Partners | None = None,
    admitting: Admitting | None = None,
    universe: Sequence[str] | None = None,
) -> Recipe:
    """Draft → published: make the keys, fix the document, sign it.

    Do not call it in a transaction: another server may be asked in between, and each request is stored before
    it is sent.

    Args:
        reviewed: `draft_hash` of the draft that a reviewer read and approved; None if there was none.
        partners: the helper and the shuffler; by default those that the settings name.
        admitting: the issuer and the relay, likewise.
        universe: the items that a recipe with `items = listed` is about. It is not stored.

    Raises:
        FieldError: the draft cannot be published with its present content (e.g. it would be closed already,
            exceed its population's budget, or another server refuses it).
        PartnerUnavailableError: it did not answer; the draft is as it was, and can be published later.
        RecipeStateError: the recipe is not a draft, was changed after it was read or while its key was
            made, or needs the approval of another analyst.
        NotComputedError: what it guarantees or costs is not computed yet; not for the command line.
    """
    content = recipe.draft
    draft = with_kem(RecipeDraft.from_mapping(content), simulation=simulation)
    guaranteed = None if actor is None else guarantees_require(asked=draft)
    status_require(recipe, Recipe.Status.DRAFT)
    if reviewed is not None and reviewed != recipe.draft_hash:
        raise RecipeStateError("the draft was changed after it was shown; read it once more")
    if not simulation:
        # Checked before another server is asked.
        approval_require(recipe=recipe, document=content, actor=actor, universe=universe)
    with saying_what_fits(draft):
        prepared = _prepare(draft, simulation, partners, admitting, universe, None, guaranteed)

        @transaction.atomic
        def write(affordable: Affordable | None) -> Recipe:
            locked, approval = recipe_locked(recipe, Recipe.Status.DRAFT), ""
            if locked.draft != content:
                raise RecipeStateError(
                    "the draft was changed while it was being published; look at it once more"
                )
            if not simulation:
                approval = approval_spend(recipe=locked, document=content, actor=actor, universe=universe)
            return _publish(locked, prepared, actor, approval, affordable)

        return write(None) if simulation else spent_with(draft, write, here=guaranteed is None)


def recipe_publish_file(
    *,
    members: Mapping[str, object],
    actor: User | None,
    simulation: bool = False,
    private: bool = False,
    partners: Partners | None = None,
    admitting: Admitting | None = None,
    universe: Sequence[str] | None = None,
    reserved: str | None = None,
    place: RoundPlace | None = None,
    stored: Callable[[Recipe], None] = lambda _: None,
    guaranteed: Guaranteed | None = None,
) -> Recipe:
    """Publish the content of a recipe file at once; as `recipe_publish`.

    Args:
        private: whether only analysts see the simulation, and the log names nothing of it.
        reserved: what was reserved for its cost (`recipes.budget.reserve`); None if nothing was.
        place: of a round of a recipe in rounds: which it is.
        stored: called with the recipe in the transaction that publishes it; what it raises undoes that.
        guaranteed: what exactly this content guarantees; None to compute it here.

    Raises:
        FieldError, PartnerUnavailableError: nothing was stored.
        ApprovalNeededError: an account wants to publish it, for which another one must approve. Simulations
            need none, nor does what is reserved: its series was approved.
    """
    draft = with_kem(RecipeDraft.from_mapping(members).having(round=place), simulation=simulation)
    if private and (others := others_of(draft)):
        raise FieldError("public", f"must be true: {others}, whose log is public")
    exempt = simulation or reserved is not None
    if not exempt:
        approval_require(recipe=None, document=draft.as_dict(), actor=actor, universe=universe)
    with saying_what_fits(draft):
        prepared = _prepare(draft, simulation, partners, admitting, universe, reserved, guaranteed)

        @transaction.atomic
        def write(affordable: Affordable | None) -> Recipe:
            recipe, approval = Recipe(created_by=actor, device_key=device_key_new() if private else ""), ""
            recipe_fill(recipe, draft)
            if not exempt:
                approval = approval_spend(
                    recipe=None, document=draft.as_dict(), actor=actor, universe=universe
                )
            recipe = _publish(recipe, prepared, actor, approval, affordable)
            stored(recipe)
            return recipe

        return write(None) if exempt else spent_with(draft, write, here=guaranteed is None)


@dataclass(frozen=True)
class _Prepared:
    """What publishing needs and may take seconds to compute: done before anything is locked."""

    secrets: Prepared
    issuer: AgreedIssuer | None
    targeted: Targeted | None
    published_at: datetime
    guaranteed: Guaranteed
    reserved: str | None


def _prepare(
    draft: RecipeDraft,
    simulation: bool,
    partners: Partners | None,
    admitting: Admitting | None,
    universe: Sequence[str] | None,
    reserved: str | None = None,
    guaranteed: Guaranteed | None = None,
) -> _Prepared:
    """All that comes ahead of the transaction.

    Args:
        guaranteed: what exactly this draft guarantees; None to compute it here.
    """
    now = clock.database_now()
    if guaranteed is not None:
        guaranteed.require_kept()
        draft = guaranteed.settled(draft)
    if not simulation:
        require_within_limits(draft, guaranteed)
    population_named(draft.population)  # the cheap refusal first
    mechanism = draft.calibrated_statistic()
    if not simulation and reserved is None:
        # Before a key is made, which takes longer; the check that counts is made in the transaction.
        affordable_require(Cost.of(draft), draft.population, here=guaranteed is None)
    if guaranteed is None:
        guaranteed = guaranteed_here(draft)
    targeted = target_require(draft, simulation=simulation)
    # Last, because it may ask other servers, which are not asked for a draft that is refused here.
    partners = configured_partners() if partners is None else partners
    admitting = admitting_here() if admitting is None else admitting
    require_admitted(draft, mechanism, admitting)
    tokens = tokens_ask(draft, admitting)
    made = TRUST_MODELS[draft.trust].prepare(
        Wish(
            draft,
            now=now,
            simulation=simulation,
            partners=partners,
            universe=universe,
            admission=None if tokens is None else tokens.admission,
            relay=admitting.relay_url if draft.relay else None,
            target=None if targeted is None else targeted.cited,
        )
    )
    agreed = None if tokens is None else issuer_agree(tokens, made.published)
    return _Prepared(made, agreed, targeted, now, guaranteed, reserved)


def _publish(
    recipe: Recipe, prepared: _Prepared, actor: User | None, approval: str, affordable: Affordable | None
) -> Recipe:
    published = prepared.secrets.published
    spent = spend(published=published, reserved=prepared.reserved, affordable=affordable)
    if prepared.targeted is not None:
        # Others may have been published since; from here on, none for this population.
        prepared.targeted.require_apart()
    recipe.identifier = published.identifier
    recipe.document = published.canonical.decode()
    recipe.signature = published.sign(signing_key())
    recipe.opens_at, recipe.closes_at = published.opens_at, published.closes_at
    recipe.simulation = published.simulation
    recipe.status = Recipe.Status.PUBLISHED
    recipe.published_at = prepared.published_at
    recipe.save()
    guaranteed = prepared.guaranteed
    RecipeGuarantees.objects.create(
        recipe=recipe,
        stated=[guarantee.as_dict() for guarantee in guaranteed.guarantees],
        numbers=guaranteed.numbers.as_dict(),
    )
    prepared.secrets.store(recipe)
    step_begin(recipe=recipe)
    if prepared.issuer is not None:
        prepared.issuer.store(recipe)
    recipe_entry_append(
        recipe=recipe,
        action=RECIPE_PUBLISHED,
        actor=actor,
        details={
            "name": recipe.name,
            "statistic": recipe.statistic,
            "population": published.population,
            "trust": published.trust.value,
            "simulation": published.simulation,
            **({"spends": spent} if spent else {}),
            **({"approved_by": approval} if approval else {}),
        },
    )
    return recipe


@transaction.atomic
def recipe_close(*, recipe: Recipe, actor: User | None) -> Recipe:
    """Published → closed: no report is accepted any more.

    The row lock waits for requests that are storing reports, so a report that was
    acknowledged is there when the closed recipe is summed up.

    Raises:
        RecipeStateError: the recipe is not published, or is closed already.
    """
    recipe = recipe_locked(recipe, Recipe.Status.PUBLISHED)
    recipe.status = Recipe.Status.CLOSED
    recipe.closed_at = clock.database_now()
    recipe.save(update_fields=["status", "closed_at"])
    # Even if the rest of the document cannot be read: damage must not keep a recipe open.
    TRUST_MODELS[recipe.trust].close(recipe)
    issuance_end(recipe=recipe, reason="it was closed", now=recipe.closed_at)
    step_due(recipe=recipe)
    recipe_entry_append(
        recipe=recipe,
        action=RECIPE_CLOSED,
        actor=actor,
        details={"closes_at": format_time(recipe.closes_at)} if recipe.closes_at else {},
    )
    return recipe
