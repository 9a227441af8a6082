"""Whom of its population a recipe asks, as rows of its table of parameters and in sentences."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pages.words.parameters_table import ParameterRow
from pages.words.subjects import linked
from panprivacy.formats.parameters import PublicParameters
from panprivacy.recipe.parts.target import CitedTarget, TargetRequest
from recipes.selectors import names_of
from web.numbers import number


def target_rows(
    asked: TargetRequest | CitedTarget | None, parameters: PublicParameters
) -> list[ParameterRow]:
    """Of a draft or a published recipe with these parameters; none if it asks the whole population."""
    if asked is None:
        return []
    smallest = asked.smallest if isinstance(asked, CitedTarget) else asked.floor(parameters)
    return [
        ParameterRow("Asks only devices with", str(asked.target), "Each device alone knows its own.", False),
        ParameterRow("Smallest target", number(smallest), "It has surely at least this many devices.", False),
    ]


def target_sentence(cited: CitedTarget | None) -> SafeString | None:
    """What a target means for those who are asked, with links to what it rests on; None without a target."""
    if cited is None:
        return None
    names = names_of(citation.recipe for citation in cited.citations.values())
    results = format_html_join(
        " and ",
        "{}",
        (
            (linked(names.get(citation.recipe, citation.recipe[:10]), "recipe", citation.recipe),)
            for citation in cited.citations.values()
        ),
    )
    return format_html(
        "It asks only devices with {}. At least {} devices have this, by the result of {}. Each device "
        "checks its own attributes. Devices that are not asked take a token too, so that no party learns "
        "which are asked.",
        str(cited.target),
        number(cited.smallest),
        results,
    )


def expected_sentence(at_least: float, smallest: int) -> str:
    """What the cited results show about a target that is to be published."""
    return (
        f"Surely at least {number(int(at_least))} devices are in the target, by the cited results; it must "
        f"have {number(smallest)}."
    )
