"""The KEM of recipes whose file names none."""

from django.conf import settings

from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.hpke import is_sealed


def with_kem(draft: RecipeDraft, *, simulation: bool = False) -> RecipeDraft:
    """The draft with a KEM, if HPKE seals anything of it: its own, or X-Wing.

    The default is X25519 if browsers may take part, which have no other KEM, and in simulations: a seeded
    fleet that starts again repeats its requests byte for byte, and ML-KEM draws for itself.
    """
    if draft.hpke is not None or not is_sealed(draft):
        return draft
    needs_x25519 = simulation or settings.DEVICE_ORIGINS
    return draft.having(hpke=KemName.X25519 if needs_x25519 else KemName.X_WING)
