"""A sixth trust model is one class for each layer and one line of each table: a toy uses all of them."""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from pages.trust_models import SHOWN
from panprivacy.accounting.trust import Trust
from panprivacy.device.trust_models import TRUST_MODELS as ON_DEVICES
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.events.histogram import Histogram
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of
from publishing import TRUST_MODELS as ON_THIS_SITE
from results.trust_models import COLLECTIONS
from storage.signing_key import verification_key
from tests.collections.pages.scene import TABS
from tests.factories import as_json, recipe_members, report_of_values
from tests.scenes import finish
from tests.toys.collecting import collected
from tests.toys.trust_model import SHOWN_TOY, TOY, ToyBox, ToyCollection, ToyModel, ToyPath
from tests.toys.walk import publish_by_form, result_of, tab_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of each table."""
    monkeypatch.setitem(TRUST_MODELS, TOY, ToyBox)
    monkeypatch.setitem(ON_THIS_SITE, TOY, ToyModel())
    monkeypatch.setitem(COLLECTIONS, TOY, ToyCollection())
    monkeypatch.setitem(SHOWN, TOY, SHOWN_TOY)
    monkeypatch.setitem(ON_DEVICES, TOY, ToyPath)


def test_every_trust_model_has_its_line_in_the_table_of_every_layer() -> None:
    for table in (TRUST_MODELS, ON_THIS_SITE, COLLECTIONS, SHOWN, ON_DEVICES):
        assert list(table) == list(Trust)


@pytest.mark.usefixtures("_toy")
def test_toy_trust_model_goes_from_the_form_to_the_result(signed_in: Client) -> None:
    form = text_of(signed_in.get(f"{reverse('recipe-new')}?statistic=histogram"))
    assert "A toy box" in form
    assert "sees every toy" in form
    recipe = publish_by_form(signed_in, "histogram", trust="toy", k=1, cohort_size=3)
    published = recipe.published
    assert published.trust is TOY
    assert published.document["toy_box"]["owner"] == "Christopher"
    page = tab_of(signed_in, recipe, "recipe-privacy")
    for text in (
        "A box holds the toys.",
        "A finder of one toy",
        "of a guess about one toy",
        "unless they own it",
        "Owns the toys.",
    ):
        assert text in page
    assert "Toys are awaited." in tab_of(signed_in, recipe)
    assert "--owner-key" in tab_of(signed_in, recipe, "recipe-take-part")
    for tab in TABS:
        assert "helper" not in tab_of(signed_in, recipe, tab)

    served = signed_in.get(reverse("api-recipe", args=[recipe.identifier])).json()
    assert {guarantee["trust"] for guarantee in served["guarantees"]} == {"toy"}
    key, signature = verification_key(), bytes(recipe.signature)
    device = PublishedRecipe.verified(served["document"], served["id"], signature, key)
    assert device == published

    for bits in ((1, 0), (1, 0), (0, 1)):
        report = as_json(report_of_values(recipe, bits))
        sent_to = reverse("api-report", args=[recipe.identifier])
        assert signed_in.post(sent_to, report, content_type="application/json").status_code == 201
    assert "Close it now" in tab_of(signed_in, recipe)
    result = result_of(signed_in, finish(recipe))
    assert result["trust"] == "toy"
    assert result["owners"] == ["Christopher"]
    assert result["estimate"] == list(Histogram(published.parameters).estimate((2, 1), 3).values)
    assert {guarantee["trust"] for guarantee in result["guarantees"]} == {"toy"}
    assert "An observer of the shelf" in tab_of(signed_in, recipe, "recipe-privacy")


@pytest.mark.usefixtures("_toy")
def test_devices_report_under_the_toy_trust_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With this ε, one of three coins would flip with a probability of 6e-9; the seed repeats all of them.
    members = recipe_members(trust="toy", epsilon=20.0, cohort_size=3)
    rows = "device,step,events\nbear,1,1\nbear,3,1\ncar,1,0\ndoll,2,1\n"
    printed = collected(tmp_path, monkeypatch, members, "events", rows)
    assert printed["reports"] == {"accepted": 3, "rejected": {}}
    assert printed["estimate"] == pytest.approx(printed["truth"], abs=1e-6)
    assert printed["truth"] == 2


@pytest.mark.usefixtures("_toy")
def test_toy_recipe_below_its_cohort_says_so_in_the_toys_words(signed_in: Client) -> None:
    recipe = publish_by_form(signed_in, "count_nonzero", trust="toy", cohort_size=10)
    finish(recipe)
    page = text_of(signed_in.get(reverse("recipe", args=[recipe.identifier])))
    assert "Closed below 10 valid toys." in page
    assert "fewer valid toys than the cohort size of 10" in page
    assert "The box is empty." in page


def test_name_of_a_trust_model_without_a_line_is_refused() -> None:
    assert TOY not in trusts_of(Histogram)
    with pytest.raises(FieldError, match=r'two_server or joint_key for count_nonzero, not "toy"$'):
        RecipeDraft.from_mapping(recipe_members(trust="toy"))
