"""Reading how many tokens were issued."""

from admission.models import Issuance
from peers.issuer_calls import IssuedCount
from recipes.models import Recipe


def issued_of(recipe: Recipe) -> int | None:
    """How many tokens of a recipe were issued. None while nobody knows, and where anybody may report."""
    return Issuance.objects.filter(recipe=recipe).values_list("issued", flat=True).first()


def issued_count_of(recipe: Recipe) -> IssuedCount | None:
    """The same with the issuer's signature (`panprivacy.signed_count.IssuedTokens`)."""
    row = Issuance.objects.filter(recipe=recipe, issued__isnull=False).first()
    return None if row is None or row.issued is None else IssuedCount(row.issued, bytes(row.signature))


def issuer_must_hear(recipe: Recipe) -> bool:
    """Whether the issuer has still to acknowledge the end of a closed recipe."""
    return Issuance.objects.filter(recipe=recipe, issued=None).exclude(reason="").exists()


def issuance_of(recipe: Recipe) -> Issuance | None:
    """The row; None where anybody may report."""
    return Issuance.objects.filter(recipe=recipe).first()
