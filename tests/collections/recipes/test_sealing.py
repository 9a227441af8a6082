"""The KEM of a recipe whose file names none."""

from typing import Any

import pytest

from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.draft import RecipeDraft
from recipes.sealing import with_kem

FILE = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 7,
    "epsilon": 1.0,
    "delta": 1e-6,
    "cohort_size": 1_000,
}
SEALED = FILE | {"trust": "two_server"}
BROWSERS = ["https://library.example"]


@pytest.mark.parametrize(
    ("asked", "origins", "simulation", "kem"),
    [
        (SEALED, [], False, KemName.X_WING),
        (FILE | {"relay": True}, [], False, KemName.X_WING),
        (SEALED, BROWSERS, False, KemName.X25519),
        (SEALED, [], True, KemName.X25519),
        (SEALED | {"hpke": "x-wing"}, BROWSERS, True, KemName.X_WING),
        (SEALED | {"hpke": "x25519"}, [], False, KemName.X25519),
        (FILE, [], False, None),
    ],
)
def test_kem_is_the_files_or_what_all_devices_of_the_site_have(
    settings: Any, asked: dict[str, Any], origins: list[str], simulation: bool, kem: KemName | None
) -> None:
    settings.DEVICE_ORIGINS = origins
    draft = with_kem(RecipeDraft.from_mapping(asked), simulation=simulation)
    assert draft.hpke is kem
    assert with_kem(draft) == draft
