"""A draft is asked in rounds from its page: what all of them promise stands there before, and what is wrong
stands at its field."""

import pytest
from django.urls import reverse

from ledger.budget import Budget
from ledger.models import Spending
from ledger.operations import population_create
from pages.words.sentences import guarantee_from_mapping, guarantee_texts
from panprivacy.rounds.draft import RoundsDraft
from recipes.models import Recipe
from series.models import RoundsDocument, Series
from tests.factories import draft_recipe
from tests.page_text import page_text
from tests.scenes import analyst
from web.numbers import significant

pytestmark = pytest.mark.django_db

ASKED = {"steps": 1, "step_seconds": 1, "cohort_size": 20, "sampling_rate": 0.2}
GIVEN = {"rounds": "3", "round_seconds": "60"}


@pytest.fixture
def publisher(client):
    client.force_login(analyst())
    return client


def address(draft, name="draft-rounds"):
    return reverse(name, args=[draft.pk])


def errors(answer):
    assert answer.status_code == 422
    return dict(answer.context["form"].errors)


def test_a_draft_is_published_in_rounds_under_one_document(publisher):
    draft = draft_recipe(**ASKED)
    assert address(draft) in publisher.get(reverse("recipe-draft", args=[draft.pk])).content.decode()
    answer = publisher.post(address(draft), GIVEN | {"public_input": "on"})
    signed = RoundsDocument.objects.get()
    assert answer.headers["Location"] == reverse("series", args=[signed.series.identifier])
    assert (signed.stated["rounds"], signed.stated["round_seconds"]) == (3, 60)
    assert signed.stated["public_input"]
    assert not signed.once
    assert Recipe.objects.get(pk=draft.pk).status == Recipe.Status.DRAFT


def test_donation_rounds_set_the_sampling_rate_whatever_the_draft_says(publisher):
    publisher.post(address(draft_recipe(**ASKED)), {"donation_rounds": "4", "round_seconds": "60"})
    signed = RoundsDocument.objects.get()
    assert signed.once
    assert signed.stated["asks"]["sampling_rate"] == 1 / 4


def test_preview_states_what_the_document_and_the_budget_will(publisher):
    population_create(name="pilots", description="", budget=Budget(epsilon=2.0, delta=1e-4), actor=None)
    draft = draft_recipe(population="pilots", **ASKED)
    preview = publisher.post(address(draft, "draft-rounds-preview"), GIVEN).context["preview"]
    assert not Series.objects.exists()
    publisher.post(address(draft), GIVEN)
    signed = RoundsDocument.objects.get()
    together = RoundsDraft.from_mapping(signed.series.draft).event_until(3)
    assert Spending.objects.get().event == together.as_dict()
    assert preview.effect.composed == pytest.approx(together.epsilon(1e-4))
    assert preview.guarantees == guarantee_texts(
        guarantee_from_mapping(one) for one in signed.stated["privacy"]
    )


def test_numbers_of_donation_rounds_are_shown_short_with_delta_relation_and_why_none_is_charged(publisher):
    given = {"donation_rounds": "4", "round_seconds": "60"}
    answer = publisher.post(address(draft_recipe(**ASKED), "draft-rounds-preview"), given)
    donation, text = answer.context["preview"].donation, page_text(answer)
    for shown, delta in (
        (donation.epsilon, "1e-6"),
        (donation.printed_epsilon, "5e-6"),
    ):
        assert f"{significant(shown, 3)} (δ = {delta})" in text, text
        assert str(shown) not in text
    assert "both under replacement" in text
    assert "missing in later rounds" in text


def test_preview_says_what_keeps_it_from_being_computed(publisher):
    draft = draft_recipe(**ASKED)
    for given, said in (
        (GIVEN | {"rounds": ""}, "Rounds:"),
        (GIVEN | {"rounds": "0"}, "Must be from 1 to 10,000"),
    ):
        text = page_text(publisher.post(address(draft, "draft-rounds-preview"), given))
        assert "Not computed yet" in text
        assert said in text
    shown = publisher.post(address(draft), GIVEN | {"action": "preview"})
    assert shown.status_code == 200
    assert shown.context["preview"].seconds == 180
    assert not Series.objects.exists()


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"rounds": ""}, "rounds", "Fill in this or “Donation rounds”"),
        ({"donation_rounds": "4"}, "rounds", "not both"),
        ({"rounds": "10001"}, "rounds", "from 1 to 10,000"),
        ({"rounds": "", "donation_rounds": "1"}, "donation_rounds", "from 2 to 10,000"),
        ({"round_seconds": ""}, "round_seconds", "required"),
        ({"round_seconds": "1"}, "round_seconds", "above 1"),
        ({"round_seconds": "2678401"}, "round_seconds", "from 1 to 2,678,400"),
    ],
)
def test_what_cannot_be_stands_at_its_field(publisher, given, field, said):
    found = errors(publisher.post(address(draft_recipe(**ASKED)), GIVEN | given))
    assert list(found) == [field]
    assert said in " ".join(found[field])
    assert not Series.objects.exists()


def test_what_the_draft_itself_makes_impossible_stands_above_with_its_label(publisher):
    found = errors(publisher.post(address(draft_recipe(name="n" * 120, **ASKED)), GIVEN))
    assert found == {"__all__": ["Name: must have at most 98 characters where it has rounds."]}


def test_rounds_beyond_the_budget_are_refused_and_the_preview_says_so(publisher, monkeypatch):
    monkeypatch.setattr("recipes.budget.SEARCH_SECONDS", -1.0)  # what would fit is another test's
    population_create(name="pilots", description="", budget=Budget(epsilon=0.01, delta=1e-4), actor=None)
    draft = draft_recipe(population="pilots", **ASKED)
    assert publisher.post(address(draft, "draft-rounds-preview"), GIVEN).context["preview"].effect.exceeds
    assert errors(publisher.post(address(draft), GIVEN))
    assert not Series.objects.exists()


def test_four_eyes_ask_about_what_all_rounds_guarantee_together(publisher):
    population_create(name="pilots", description="", budget=None, actor=None, four_eyes=True)
    draft = draft_recipe(population="pilots", **ASKED)
    answer = publisher.post(address(draft), GIVEN)
    assert answer.headers["Location"].startswith("/series/proposals/")
    text = page_text(publisher.get(answer.headers["Location"]))
    assert "Privacy label of all rounds together" in text
    assert "3 times" in text
    assert not Series.objects.exists()


def test_suggested_round_is_long_enough_for_the_steps_and_said_in_words(publisher):
    draft = draft_recipe(**ASKED | {"steps": 6, "step_seconds": 86_400})
    page = publisher.get(address(draft))
    suggested = page.context["form"]["round_seconds"].initial
    assert suggested == 7 * 86_400
    assert "7 days (604,800 s); the steps take 6 days" in page_text(page)
    assert publisher.post(address(draft), GIVEN | {"round_seconds": suggested}).status_code == 302
    found = errors(publisher.post(address(draft), GIVEN | {"round_seconds": 6 * 86_400}))
    assert "above 6 days (518,400 s)" in found["round_seconds"][0]


def test_form_says_that_one_of_both_numbers_is_needed(publisher):
    text = page_text(publisher.get(address(draft_recipe(**ASKED))))
    assert "(this or “Donation rounds”)" in text
    assert "(this or “Rounds”)" in text
    assert "(optional)" not in text


def test_local_limit_is_of_each_round_and_the_preview_says_so(publisher, settings):
    settings.LARGEST_LOCAL_EPSILON = 2.5
    draft = draft_recipe(**ASKED | {"epsilon": 2.0})
    said = "This site’s limit on the local ε (2.5) is for each round by itself, not for all of them."
    assert said in page_text(publisher.post(address(draft, "draft-rounds-preview"), GIVEN))
    # Three rounds of 2 each are more than 2.5 in total.
    assert publisher.post(address(draft), GIVEN).status_code == 302
    settings.LARGEST_LOCAL_EPSILON = 1.5
    assert errors(publisher.post(address(draft), GIVEN | {"rounds": "1"}))


def test_only_publishers_ask_in_rounds_and_only_drafts(client, publisher):
    draft = draft_recipe(**ASKED)
    publisher.post(reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash})
    assert publisher.get(address(draft)).status_code == 404
    client.logout()
    assert client.post(address(draft_recipe(**ASKED)), GIVEN).status_code in (302, 403)
    assert not Series.objects.exists()
