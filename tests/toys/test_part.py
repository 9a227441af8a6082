"""An optional part of recipes is one file and one line of its table: a toy appears everywhere."""

from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts import PARTS
from storage.signing_key import verification_key
from tests.factories import recipe_members
from tests.scenes import stream_members
from tests.toys.part import ToyPart
from tests.toys.walk import publish_by_form, tab_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of the table."""
    monkeypatch.setitem(PARTS, ToyPart.name, ToyPart())


@pytest.mark.usefixtures("_toy")
def test_toy_part_is_in_form_document_page_and_description(signed_in: Client, tmp_path: Path) -> None:
    form = text_of(signed_in.get(f"{reverse('recipe-new')}?statistic=count_nonzero"))
    assert "Favourite toy" in form
    assert "Which toy children bring." in form
    recipe = publish_by_form(signed_in, "count_nonzero", toy="A bear")
    assert recipe.published.document["toy"] == "A bear"
    served = signed_in.get(reverse("api-recipe", args=[recipe.identifier])).json()
    assert served["document"]["toy"] == "A bear"
    page = tab_of(signed_in, recipe, "recipe-privacy")
    for shown in ("Favourite toy", "A bear", "The toy that children bring."):
        assert shown in page
    generated = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(generated))
    description = yaml.safe_load(generated.read_text())["components"]["schemas"]
    assert description["RecipeFile"]["properties"]["toy"]["maxLength"] == 20
    assert "`toy`: The toy that children bring." in str(description["Recipe"])


@pytest.mark.usefixtures("_toy")
def test_toy_part_is_read_checked_and_written_like_every_part() -> None:
    members = recipe_members(toy=" A bear ")
    draft = RecipeDraft.from_mapping(members)
    assert draft.as_dict()["toy"] == "A bear"
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft
    assert "toy" not in RecipeDraft.from_mapping(recipe_members(toy=None)).as_dict()
    for wrong in ("", "x" * 21, 3):
        with pytest.raises(FieldError, match=r"^toy: must be one line of 1 to 20 characters"):
            RecipeDraft.from_mapping(recipe_members(toy=wrong))
    with pytest.raises(FieldError, match=r"^toy: is not a field of a density recipe"):
        RecipeDraft.from_mapping({**stream_members(), "toy": "A bear"})


def test_device_without_the_part_refuses_a_recipe_that_has_it(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setitem(PARTS, ToyPart.name, ToyPart())
        recipe = publish_by_form(signed_in, "count_nonzero", toy="A bear")
        document, signature = recipe.published.document, bytes(recipe.signature)
        read = PublishedRecipe.verified(document, recipe.identifier, signature, verification_key())
        assert read.document == document
    # The browser's device refuses it, too: devices_web/tests/device.test.ts.
    with pytest.raises(FieldError, match=r"^toy: is not a parameter"):
        PublishedRecipe.verified(document, recipe.identifier, signature, verification_key())
