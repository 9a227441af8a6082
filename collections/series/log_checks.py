"""Stored documents of rounds, and their public inputs, are those that were published."""

import json

from log.audit.models import Entry
from log.audit.registry import Action
from log.audit.selectors import BrokenLogError
from log.public_log.checks import log_check
from panprivacy.recipe.rounds.document import FORMAT as ROUNDS
from panprivacy.recipe.rounds.public_input import FORMAT as INPUT
from panprivacy.recipe.signed_documents import require_signed
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from series.actions import INPUT_PUBLISHED, ROUNDS_PUBLISHED
from series.models import PublicInput, RoundsDocument
from storage.signing_key import verification_key


@log_check
def rounds_verify() -> None:
    """Every signed document against its identifier, its signature, its entry, and the other columns of its
    row.
    """
    entered = _entered(ROUNDS_PUBLISHED)
    for signed in RoundsDocument.objects.order_by("pk").iterator():
        _verify(signed, ROUNDS, entered)
        stated = signed.stated
        rounds = stated.get("donation_rounds", stated.get("rounds"))
        if (signed.rounds, signed.public_input) != (rounds, stated.get("public_input")):
            raise BrokenLogError(f"rounds of {signed.identifier} are not as they were signed")
    entered = _entered(INPUT_PUBLISHED)
    for given in PublicInput.objects.order_by("pk").iterator():
        _verify(given, INPUT, entered)
        if json.loads(given.document)["number"] != given.number:
            raise BrokenLogError(f"public input {given.identifier} belongs to another round")


def _entered(action: Action) -> set[str]:
    return set(Entry.objects.filter(action=action.name).values_list("subject", flat=True))


def _verify(signed: RoundsDocument | PublicInput, format_: str, entered: set[str]) -> None:
    try:
        require_signed(
            json.loads(signed.document),
            signed.identifier,
            bytes(signed.signature),
            verification_key(),
            format_=format_,
        )
    except (RecipeVerificationError, ValueError) as error:
        raise BrokenLogError(f"document {signed.identifier} does not hold: {error}") from None
    if signed.identifier not in entered:
        raise BrokenLogError(f"document {signed.identifier} has no entry")
