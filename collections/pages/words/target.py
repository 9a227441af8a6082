"""Whom of its population a recipe asks, as rows of its table of parameters and in sentences."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pages.words.parameters_table import ParameterRow
from pages.words.subjects import linked
from panprivacy.asked_target import AskedTarget, CitedTarget
from panprivacy.parameters import PublicParameters
from recipes.selectors import names_of
from web.numbers import number


def target_rows(asked: AskedTarget | CitedTarget | None, parameters: PublicParameters) -> list[ParameterRow]:
    """Of a draft or a published recipe with these parameters; none where it asks everybody."""
    if asked is None:
        return []
    smallest = asked.smallest if isinstance(asked, CitedTarget) else asked.floor(parameters)
    return [
        ParameterRow("Asks only devices with", str(asked.target), "Each device alone knows its own.", False),
        ParameterRow("Smallest target", number(smallest), "So many devices are surely in it.", False),
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
        "It asks only devices with {}. At least {} devices have this: so says the result of {}. Each device "
        "looks at its own attributes alone. Devices that are not asked take a token too, and nobody learns "
        "who is asked.",
        str(cited.target),
        number(cited.smallest),
        results,
    )


def expected_sentence(at_least: float, smallest: int) -> str:
    """What the cited results say of a target that is to be published."""
    return (
        f"Surely at least {number(int(at_least))} devices are in the target, by the cited results; it must "
        f"have {number(smallest)}."
    )
