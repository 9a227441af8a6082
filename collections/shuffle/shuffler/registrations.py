"""Which recipes a shuffler takes part in: it checks everything that its signature vouches for."""

from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.db import transaction

from log.audit.operations import entry_append
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe, recipe_of
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from partners.problems import conflict, refused
from partners.recipe_document import recipe_read
from shuffle.shuffler.actions import BATCH_REGISTERED
from shuffle.shuffler.limits import require_fits
from shuffle.shuffler.models import Batch
from storage.signing_key import signing_key, verification_key


def batch_register(*, identifier: str, document: str, now: datetime) -> bytes:
    """Take part in a recipe: its messages are accepted between its opening and closing times.

    Args:
        identifier: 64 hexadecimal digits; must be the SHA-256 of the document.
        document: the recipe's canonical JSON, exactly.

    Returns:
        Our Ed25519 signature of the recipe, 64 bytes: the same for the same recipe.

    Raises:
        Problem: something is not as it must be; the detail names it.
    """
    recipe = recipe_read(document=document, identifier=identifier)
    ours = recipe.servers
    if not isinstance(ours, ShufflerAndAnalyzer):
        raise refused("trust: must be shuffler.")
    if ours.shuffler_url != settings.SHUFFLER_URL:
        raise refused(f"shuffler.url: must be {settings.SHUFFLER_URL}.")
    if ours.shuffler_verification_key != verification_key().public_bytes_raw():
        raise refused("shuffler.verification_key: must be ours.")
    if not recipe.simulation and recipe.closes_at <= now:
        raise refused("closes_at: must lie in the future.")
    try:
        require_fits(recipe)
    except FieldError as error:
        raise refused(f"{error}.") from None
    _store(recipe, now)
    return recipe.sign(signing_key())


@lru_cache(maxsize=64)
def encryption_key_of(document: str) -> PublicKey:
    """The analyzer's key, in the faster flavour: what is rerandomized under it is no secret of ours."""
    return recipe_of(document).public_key.with_tables()


@transaction.atomic
def _store(recipe: PublishedRecipe, now: datetime) -> None:
    batch, is_new = Batch.objects.get_or_create(
        identifier=recipe.identifier,
        defaults={
            "document": recipe.canonical.decode(),
            "cohort_size": recipe.calibrated_statistic.cohort_size,
            "created_at": now,
        },
    )
    if batch.state == Batch.State.ENDED:
        raise conflict(f"The batch has ended: {batch.outcome}")
    if is_new:
        entry_append(
            action=BATCH_REGISTERED,
            subject=recipe.identifier,
            actor=None,
            details={"cohort_size": batch.cohort_size},
        )
