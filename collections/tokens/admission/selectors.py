"""Reading how many tokens were issued."""

from recipes.models import Recipe
from tokens.admission.models import Issuance


def issued_of(recipe: Recipe) -> int | None:
    """How many tokens of a recipe were issued. None while this is unknown, and if any device may report."""
    return Issuance.objects.filter(recipe=recipe).values_list("issued", flat=True).first()


def issuer_must_hear(recipe: Recipe) -> bool:
    """Whether the issuer has still to acknowledge the end of a closed recipe."""
    return Issuance.objects.filter(recipe=recipe, issued=None).exclude(reason="").exists()


def issuance_of(recipe: Recipe) -> Issuance | None:
    """The row; None if any device may report."""
    return Issuance.objects.filter(recipe=recipe).first()
