"""What all rounds of a recipe guarantee together, for the page of their series and of each round."""

from pages.words.sentences import RELATION_NAMES, GuaranteeText, guarantee_texts
from panprivacy.accounting.guarantees import Model, Relation, main_guarantee
from recipes.models import Recipe
from recipes.planner.guarantees import guarantee_from_mapping
from series.models import RoundsDocument

CHARGED = (Model.SAMPLED, Model.AGGREGATOR)
"""Of rounds in which devices draw anew, a budget is charged with the sampled release (`rounds_event`)."""


def guarantees_together(signed: RoundsDocument) -> list[GuaranteeText]:
    """What the document of a recipe in rounds guarantees for all of them together."""
    return guarantee_texts(guarantee_from_mapping(one) for one in signed.stated["privacy"])


def main_of(signed: RoundsDocument) -> GuaranteeText | None:
    """The one of `guarantees_together` that the budget is charged with. None if none is stated."""
    main = main_guarantee(signed.stated["privacy"], CHARGED)
    if main is None:
        return None
    return next(one for one in guarantees_together(signed) if one.model == main["model"])


def beside_round(recipe: Recipe) -> tuple[RoundsDocument, list[GuaranteeText]] | None:
    """Of the recipe of a round: the document of all of them, and their guarantees against readers of the
    results and of single reports, as far as they are stated. None if the recipe is no such round."""
    place = getattr(recipe, "round", None)
    signed = None if place is None else RoundsDocument.objects.filter(series=place.series_id).first()
    if signed is None:
        return None
    stated = guarantees_together(signed)
    local = [one for one in stated if one.model == Model.LOCAL.value]
    replacing = [one for one in local if RELATION_NAMES[Relation.REPLACE] in one.relation_names]
    main = main_of(signed)
    return signed, [*([] if main is None else [main]), *(replacing or local)[:1]]
