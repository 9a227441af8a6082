"""What all rounds of a recipe guarantee together, for the page of their series and of each round."""

from pages.words.sentences import RELATION_NAMES, GuaranteeText, guarantee_texts
from panprivacy.accounting.guarantees import Model, Relation
from recipes.models import Recipe
from recipes.planner.guarantees import guarantee_from_mapping
from series.models import RoundsDocument

RESULTS = (Model.SAMPLED.value, Model.AGGREGATOR.value)


def guarantees_together(signed: RoundsDocument) -> list[GuaranteeText]:
    """What the document of a recipe in rounds guarantees for all of them together."""
    return guarantee_texts(guarantee_from_mapping(one) for one in signed.stated["privacy"])


def main_guarantee(guarantees: list[GuaranteeText]) -> GuaranteeText | None:
    """The one against readers of the results: what the budget is charged with. None if none is stated."""
    return next((one for model in RESULTS for one in guarantees if one.model == model), None)


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
    main = main_guarantee(stated)
    return signed, [*([] if main is None else [main]), *(replacing or local)[:1]]
