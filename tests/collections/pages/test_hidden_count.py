"""A hidden number of reports on pages: from the form to the guarantee, and in what a result divides by."""

import pytest
from django.test import Client

from pages.publish.forms import recipe_form_class
from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.mean import Mean
from releases.exports import release_document
from tests.factories import draft_recipe, published_recipe
from tests.page_text import page_text
from tests.scenes import analyst, finish, open_recipe

pytestmark = pytest.mark.django_db

HIDDEN = {"population_size": 10_000, "sampling_rate": 0.1}


@pytest.mark.parametrize(
    ("typed", "members"),
    [
        ("1", {"epsilon": 1.0, "delta": 1e-6}),
        ("0.5, 1e-08", {"epsilon": 0.5, "delta": 1e-8}),
        ("", None),
    ],
)
def test_form_reads_what_it_shows_and_loses_nothing(typed: str, members: dict[str, float] | None) -> None:
    field = recipe_form_class(CountNonzero).base_fields["hidden_count"]
    assert field.clean(typed) == members
    assert field.clean(field.prepare_value(members)) == members


def test_form_of_a_statistic_without_dummies_does_not_ask() -> None:
    assert "hidden_count" not in recipe_form_class(Mean).base_fields


@pytest.mark.parametrize("typed", ["many", "1 2 3", "0", "nan"])
def test_form_says_at_the_field_what_is_wrong(client: Client, typed: str) -> None:
    draft = draft_recipe(**HIDDEN, hidden_count={"epsilon": 1, "delta": 1e-6})
    client.force_login(analyst())
    page = client.get(f"/recipes/drafts/{draft.pk}/edit/")
    form = page.context["form"]
    assert form["hidden_count"].value() == "1.0"
    sent = {bound.name: bound.value() for bound in form if bound.value() is not None}
    answer = client.post(f"/recipes/drafts/{draft.pk}/edit/", {**sent, "hidden_count": typed})
    assert answer.status_code == 422


def test_page_of_a_recipe_lists_the_guarantee_of_its_number_of_reports(client: Client) -> None:
    recipe = published_recipe(**HIDDEN, hidden_count={"epsilon": 1, "delta": 1e-6})
    page = page_text(client.get(f"/recipes/{recipe.identifier}/"))
    assert "Someone who sees only the number of reports" in page
    assert "to at most 73% sure whether one device takes part" in page
    assert "one report (a device takes part, against it does not)" in page


def test_result_divides_by_the_rate_at_which_devices_report() -> None:
    hidden = {"hidden_count": {"epsilon": 0.1, "delta": 1e-6}, "simulation": True}
    recipe = finish(open_recipe([1] * 6, **HIDDEN, **hidden))
    rate = recipe.published.calibrated_statistic.reporting_rate
    assert rate > 0.2
    told = release_document(recipe.release, None)
    assert told["share_of"] == pytest.approx(6 / rate)
