"""Template filters: the conventions for showing numbers and names."""

from django import template

from recipes import presentation

register = template.Library()

register.filter("number", presentation.number)
register.filter("significant", presentation.significant)


@register.filter
def epsilon(value: float | None) -> str:
    """ε to three significant digits; one that could not be computed in time is unknown, this time."""
    return "not computed yet" if value is None else presentation.significant(value, 3)


@register.filter
def words(name: str) -> str:
    """A registered name in words: count_nonzero → count nonzero."""
    return str(name).replace("_", " ")
