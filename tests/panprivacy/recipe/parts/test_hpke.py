"""Which KEM a recipe names, and which recipes name one."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.request_bytes import published_report_bytes, report_bytes
from tests.panprivacy.device.two_servers import two_server_recipe

PAGE = (Path(__file__).parents[4] / "docs" / "post-quantum.md").read_text()
EXAMPLE: dict[str, Any] = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
ONE_SERVER = {name: value for name, value in EXAMPLE.items() if name not in ("trust", "hpke")}
SHUFFLED = {
    "name": "Items",
    "question": "How many?",
    "statistic": "shuffle_histogram",
    "k": 2,
    "epsilon": 1.0,
    "delta": 1e-6,
    "cohort_size": 2_000,
}


def test_example_of_the_page_names_x_wing_and_its_program_runs() -> None:
    assert RecipeDraft.from_mapping(EXAMPLE).hpke is KemName.X_WING
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, {})  # noqa: S102  # the page's own example
    assert printed.getvalue() == "b'text'\n"


@pytest.mark.parametrize("kem", KemName)
@pytest.mark.parametrize(
    "asked",
    [
        ONE_SERVER | {"trust": "two_server"},
        ONE_SERVER | {"relay": True},
        ONE_SERVER | {"admission": "token"},
        SHUFFLED | {"relay": True},
    ],
    ids=["two-servers", "relay", "tokens", "shuffler"],
)
def test_file_of_a_sealed_recipe_names_its_kem(asked: dict[str, Any], kem: KemName) -> None:
    draft = RecipeDraft.from_mapping(asked | {"hpke": kem.value})
    assert draft.hpke is kem
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft
    assert RecipeDraft.from_mapping(asked).hpke is None


@pytest.mark.parametrize("asked", [ONE_SERVER, SHUFFLED, ONE_SERVER | {"relay": False}])
def test_kem_of_a_recipe_that_nothing_seals_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(FieldError, match="seals nothing") as refusal:
        RecipeDraft.from_mapping(asked | {"hpke": "x-wing"})
    assert refusal.value.field == "hpke"


@pytest.mark.parametrize("value", ["", "X-Wing", "ml-kem-768", "x25519 ", 1, True, [], {"x-wing": 1}])
def test_other_kem_is_refused(value: object) -> None:
    with pytest.raises(FieldError, match="must be x-wing or x25519") as refusal:
        RecipeDraft.from_mapping(EXAMPLE | {"hpke": value})
    assert refusal.value.field == "hpke"


def test_document_has_the_field_for_x_wing_only() -> None:
    by_default, named, classical = (
        two_server_recipe(), two_server_recipe(hpke="x-wing"), two_server_recipe(hpke="x25519")
    )  # fmt: skip
    assert by_default.document["hpke"] == named.document["hpke"] == "x-wing"
    assert "hpke" not in classical.document
    assert (named.hpke, classical.hpke) == (KemName.X_WING, KemName.X25519)
    for recipe in (named, classical):
        assert PublishedRecipe.from_document(recipe.document) == recipe


@pytest.mark.parametrize("value", ["x25519", None, "", "x-wing2"])
def test_document_with_another_spelling_is_refused(value: object) -> None:
    with pytest.raises(FieldError) as refusal:
        PublishedRecipe.from_document(two_server_recipe().document | {"hpke": value})
    assert refusal.value.field == "hpke"


def test_document_without_anything_sealed_has_no_kem() -> None:
    recipe = two_server_recipe(hpke="x25519").document
    one_server = {name: value for name, value in recipe.items() if name not in ("leader", "helper")}
    one_server |= {"trust": "single_server", "public_key": recipe["leader"]["public_key"], "hpke": "x-wing"}
    with pytest.raises(FieldError, match="seals nothing"):
        PublishedRecipe.from_document(one_server)


def test_report_is_longer_by_both_encapsulated_keys() -> None:
    published = {kem: two_server_recipe(hpke=kem.value) for kem in KemName}
    lengths = {kem: published_report_bytes(recipe) for kem, recipe in published.items()}
    assert lengths[KemName.X_WING] - lengths[KemName.X25519] == 2 * (1_120 - 32)
    for kem, recipe in published.items():
        draft = RecipeDraft.from_mapping(EXAMPLE | {"hpke": kem.value})
        longer = report_bytes(draft, recipe.calibrated_statistic)
        assert longer == lengths[kem]
