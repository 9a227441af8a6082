import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import Entry
from pages.publish.forms import recipe_form_class
from panprivacy.mechanisms import MECHANISMS
from recipes.models import Recipe
from recipes.operations import recipe_draft_save
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst, auditor

pytestmark = pytest.mark.django_db


def form_data(**changes: Any) -> dict[str, Any]:
    data = {
        "name": "Crashes",
        "question": "On how many devices did it crash?",
        "steps": "7",
        "step_seconds": "86400",
        "epsilon": "1",
        "delta": "1e-6",
        "population": "everyone",
        "population_size": "10000",
        "sampling_rate": "1",
        "cohort_size": "1000",
        "encryption": "elgamal-secp256k1",
        **changes,
    }
    return {name: value for name, value in data.items() if value is not None}


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


def new_url(statistic: str = "count_nonzero") -> str:
    return f"{reverse('recipe-new')}?statistic={statistic}"


@pytest.mark.parametrize("statistic", sorted(MECHANISMS))
def test_form_has_a_field_for_every_parameter_that_is_not_derived(statistic: str) -> None:
    parameters = MECHANISMS[statistic].parameters_class
    fields = recipe_form_class(MECHANISMS[statistic]).base_fields
    assert set(parameters.names()) - set(fields) == set(parameters.derived_names())


@pytest.mark.parametrize("statistic", sorted(MECHANISMS))
def test_new_recipe_page_shows_a_preview_from_the_start(signed_in: Client, statistic: str) -> None:
    page = page_text(signed_in.get(new_url(statistic)))
    assert "95 of 100 repeats" in page
    assert page.count("<circle") == 50
    assert MECHANISMS[statistic].title in page


def test_choice_page_offers_every_statistic(signed_in: Client) -> None:
    page = page_text(signed_in.get(reverse("recipe-new")))
    for mechanism in MECHANISMS.values():
        assert mechanism.title in page
        assert f"?statistic={mechanism.statistic}" in page


def test_new_recipe_page_with_an_unknown_statistic_is_not_found(signed_in: Client) -> None:
    assert signed_in.get(new_url("median")).status_code == 404


def test_save_with_valid_values_makes_a_draft_and_shows_its_review(signed_in: Client) -> None:
    response = signed_in.post(new_url(), form_data(action="save"), follow=True)
    recipe = Recipe.objects.get()
    assert response.redirect_chain == [(reverse("recipe-draft", args=[recipe.pk]), 302)]
    assert (recipe.status, recipe.cohort_size, recipe.created_by.get_username()) == ("draft", 1000, "ana")
    assert recipe.draft["population_size"] == 10_000
    page = page_text(response)
    assert "computed for 10,000 devices that hear of it" in page
    assert "cannot be edited once it is published" in page
    assert "at most 73% sure" in page


@pytest.mark.searches
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": "0"}, "epsilon"),
        ({"cohort_size": "1"}, "cohort_size"),
        ({"question": None}, "question"),
        ({"name": "nul\x00"}, "name"),
        ({"step_seconds": "9" * 5000}, "step_seconds"),
        ({"opens_at": "2030-01-02T00:00", "closes_at": "2030-01-01T00:00"}, "closes_at"),
        ({"encryption": "rot13"}, "encryption"),
        ({"delta": "nan"}, "delta"),
        ({"population": "nowhere"}, "population"),
    ],
)
def test_save_with_an_impossible_value_names_its_field(
    signed_in: Client, changes: dict[str, Any], field: str
) -> None:
    response = signed_in.post(new_url(), form_data(action="save", **changes))
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert f'id="id_{field}_error"' in page_text(response)
    assert not Recipe.objects.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon": "0"}, "Must be from 1e-6 to 20."),
        ({"epsilon": "21"}, "Must be from 1e-6 to 20."),
        ({"cohort_size": "1"}, "Must be from 2 to 1,000,000,000."),
        ({"population_size": "0"}, "Must be from 1 to 10,000,000,000."),
        (
            {"opens_at": "2030-01-02T00:00", "closes_at": "2030-01-01T00:00"},
            "Must be later than “Opens at (UTC)” by more than 7 days (604,800 s), which the steps take.",
        ),
    ],
)
def test_error_of_a_field_names_both_ends_of_its_range_and_other_fields_by_their_labels(
    signed_in: Client, changes: dict[str, Any], said: str
) -> None:
    response = signed_in.post(new_url(), form_data(action="save", **changes))
    assert list(response.context["form"].errors.values()) == [[said]]


def test_refusal_of_the_domain_lands_on_the_field_that_it_names(signed_in: Client) -> None:
    # Noise that no decryption can search for: only the mechanism knows.
    data = form_data(action="save", k="1000", guarantee="local", epsilon="0.0001")
    response = signed_in.post(new_url("mean"), data)
    assert response.status_code == 422
    assert list(response.context["form"].errors) == ["epsilon"]


def test_preview_button_shows_the_preview_without_saving(signed_in: Client) -> None:
    response = signed_in.post(new_url(), form_data(action="preview", name="", question=""))
    assert response.status_code == 200
    assert "95 of 100 repeats" in page_text(response)
    assert not Recipe.objects.exists()


def test_preview_alone_needs_neither_name_nor_question(signed_in: Client) -> None:
    url = f"{reverse('recipe-preview')}?statistic=count_nonzero"
    page = page_text(signed_in.post(url, form_data(name="", question=""), HTTP_HX_REQUEST="true"))
    # √(10,000·e)/(e−1) = 95.95 for randomized response of one bit: ± 190 devices.
    assert "± 190" in page
    assert "1.9 percentage points" in page
    assert "<html" not in page


PROMISE = ("What is promised", "Effect on the budget", "would take", "under replacement")


def test_preview_alone_has_figures_only_and_fetches_the_promise(signed_in: Client) -> None:
    url = f"{reverse('recipe-preview')}?statistic=histogram"
    page = page_text(signed_in.post(url, form_data(k="10"), HTTP_HX_REQUEST="true"))
    assert "95 of 100 repeats" in page
    assert f'hx-post="{reverse("recipe-promise")}?statistic=histogram"' in page
    assert "ε =" not in page
    promise = page_text(
        signed_in.post(
            f"{reverse('recipe-promise')}?statistic=histogram",
            form_data(k="10", name=""),
            HTTP_HX_REQUEST="true",
        )
    )
    assert all(said in promise for said in PROMISE)
    assert "<html" not in promise


def test_page_shows_the_promise_and_its_effect_at_once(signed_in: Client) -> None:
    pages = (signed_in.get(new_url()), signed_in.post(new_url(), form_data(action="preview", name="")))
    for page in pages:
        assert all(said in page_text(page) for said in PROMISE)
        assert reverse("recipe-promise") not in page_text(page)


def test_promise_that_cannot_be_computed_says_so(signed_in: Client) -> None:
    url = f"{reverse('recipe-promise')}?statistic=count_nonzero"
    assert "Not computed for these values." in page_text(signed_in.post(url, form_data(epsilon="-3")))


def test_every_epsilon_of_the_promise_has_its_delta_and_relation_beside_it(signed_in: Client) -> None:
    url = f"{reverse('recipe-promise')}?statistic=histogram"
    page = page_text(signed_in.post(url, form_data(k="10")))
    items = [item for item in re.findall(r"<li>.*?</li>", page) if "ε =" in item]
    assert items
    for item in items:
        assert item.count("δ =") == len(re.findall(r"(?<!found: )ε =", item))
        assert "replacement" in item or "add/remove" in item


def test_preview_of_an_invalid_form_leaves_the_figures_and_names_the_field(signed_in: Client) -> None:
    url = f"{reverse('recipe-preview')}?statistic=count_nonzero"
    response = signed_in.post(url, form_data(epsilon="-3"))
    assert response["HX-Retarget"] == "#preview-problem"
    assert "<strong>Privacy loss (ε):</strong>" in page_text(response)
    assert "circle" not in page_text(response)


@pytest.mark.parametrize(("sampling_rate", "said"), [("1", False), ("0.5", True)])
def test_preview_says_that_sampling_is_included_only_where_devices_are_sampled(
    signed_in: Client, sampling_rate: str, said: bool
) -> None:
    url = f"{reverse('recipe-preview')}?statistic=count_nonzero"
    page = page_text(signed_in.post(url, form_data(sampling_rate=sampling_rate)))
    assert ("including the sampling of devices" in page) is said


def test_preview_warns_where_nothing_would_be_released(signed_in: Client) -> None:
    page = page_text(signed_in.post(new_url(), form_data(action="preview", sampling_rate="0.05")))
    assert "Nothing would be released" in page
    assert "About 5.0% of devices take part" in page


@pytest.mark.parametrize(("target", "missed"), [("0.01", True), ("20", False)])
def test_preview_and_review_say_whether_the_stated_target_is_met(
    signed_in: Client, target: str, missed: bool
) -> None:
    data = form_data(aggregator_epsilon=target)
    page = page_text(signed_in.post(f"{reverse('recipe-promise')}?statistic=count_nonzero", data))
    assert ("It cannot be published" in page) is missed
    review = page_text(signed_in.post(new_url(), {**data, "action": "save"}, follow=True))
    assert ("Smallest cohort that fits: " in review) is missed
    assert ("Largest ε that fits: " in review) is missed
    # What is refused can be read in full, and not be published by mistake.
    for text in ("Someone who sees only the combined result", "Cohort size", "Effect on the budget"):
        assert text in review
    assert ("<button disabled>Publish" in review) is missed


def test_preview_leads_to_the_planner_with_the_same_numbers(signed_in: Client) -> None:
    page = page_text(
        signed_in.post(f"{reverse('recipe-preview')}?statistic=count_nonzero", form_data(epsilon="1.5"))
    )
    address = re.search(r'href="(/plan/[^"]+)"', page)
    assert address is not None
    plan = signed_in.get(html.unescape(address[1]))
    assert plan.status_code == 200
    assert 'value="1.5"' in page_text(plan)


def test_edit_replaces_the_content_of_a_draft(signed_in: Client) -> None:
    recipe = draft_recipe(opens_at="2030-01-01T00:00:00Z")
    url = reverse("recipe-draft-edit", args=[recipe.pk])
    page = page_text(signed_in.get(url))
    assert 'value="2030-01-01T00:00"' in page
    signed_in.post(url, form_data(action="save", question="Another question?"))
    recipe.refresh_from_db()
    assert recipe.question == "Another question?"
    assert recipe.draft["step_seconds"] == 86400


def test_publish_makes_the_recipe_public(signed_in: Client) -> None:
    recipe = draft_recipe()
    response = signed_in.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    recipe.refresh_from_db()
    assert recipe.status == "published"
    assert not recipe.simulation
    assert "Devices can take part" in page_text(signed_in.get(response["Location"]))
    assert response["Location"] == reverse("recipe", args=[recipe.identifier])
    assert Entry.objects.get(action="recipe_published").actor == "ana"


def test_publish_of_a_draft_that_would_be_closed_already_says_so(signed_in: Client) -> None:
    recipe = draft_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2020-02-01T00:00:00Z")
    review = page_text(signed_in.get(reverse("recipe-draft", args=[recipe.pk])))
    assert "It would have closed already; choose later times." in review
    assert "<button disabled>Publish" in review
    response = signed_in.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    assert response.status_code == 422
    assert "It would have closed already" in page_text(response)
    # The button empties the times, which saves a draft that can be published.
    form = page_text(signed_in.get(f"{reverse('recipe-draft-edit', args=[recipe.pk])}?opens_at=&closes_at="))
    assert "2020-02-01" not in form.split('name="closes_at"')[1].split(">")[0]
    assert "Changed; it was 2020-02-01 00:00 UTC." in form


def test_publish_twice_changes_nothing_the_second_time(signed_in: Client) -> None:
    recipe = published_recipe()
    response = signed_in.post(
        reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash}, follow=True
    )
    assert "Nothing was changed" in page_text(response)
    assert Entry.objects.filter(action="recipe_published").count() == 1


@pytest.mark.parametrize("members", [{"statistic": "median"}, {"bandwidth": 3}, {"steps": 0}])
def test_draft_that_another_version_accepted_is_refused_with_the_reason_and_can_be_deleted(
    signed_in: Client, members: dict[str, object]
) -> None:
    recipe = draft_recipe()
    recipe.draft |= members
    recipe.statistic = recipe.draft["statistic"]
    recipe.save()
    for method, name in (("get", "recipe-draft"), ("get", "recipe-draft-edit"), ("post", "recipe-publish")):
        answer = getattr(signed_in, method)(reverse(name, args=[recipe.pk]), follow=True)
        assert answer.status_code < 500
    page = page_text(signed_in.get(reverse("recipe-draft", args=[recipe.pk])))
    named = {"steps": "Steps"}.get(next(iter(members)), next(iter(members)))
    assert "It cannot be published as it stands" in page
    assert f"<li>{named}: " in page
    signed_in.post(reverse("recipe-draft-delete", args=[recipe.pk]))
    assert not Recipe.objects.exists()


def test_delete_removes_a_draft_but_never_a_published_recipe(signed_in: Client) -> None:
    draft, published = draft_recipe(), published_recipe()
    signed_in.post(reverse("recipe-draft-delete", args=[draft.pk]))
    signed_in.post(reverse("recipe-draft-delete", args=[published.pk]))
    assert list(Recipe.objects.all()) == [published]


def test_draft_pages_of_a_published_recipe_lead_to_its_public_page(signed_in: Client) -> None:
    recipe = published_recipe()
    for name in ("recipe-draft", "recipe-draft-edit"):
        response = signed_in.get(reverse(name, args=[recipe.pk]))
        assert response["Location"] == reverse("recipe", args=[recipe.identifier])


@pytest.mark.parametrize("named", [True, False])
def test_draft_that_another_analyst_edits_while_it_is_read_is_not_published(
    signed_in: Client, named: bool
) -> None:
    """What was reviewed is what is published, and the log says who edited it."""
    recipe = draft_recipe()
    shown = page_text(signed_in.get(reverse("recipe-draft", args=[recipe.pk])))
    assert f'name="reviewed" value="{recipe.draft_hash}"' in shown
    mallory = account("mallory", "Analysts")
    recipe_draft_save(members=recipe_members(epsilon=20.0), actor=mallory, recipe=recipe)
    data = {"reviewed": recipe.draft_hash} if named else {}
    answer = signed_in.post(reverse("recipe-publish", args=[recipe.pk]), data)
    recipe.refresh_from_db()
    assert answer.status_code == 422
    assert "read it once more" in page_text(answer)
    assert recipe.status == Recipe.Status.DRAFT
    edited = Entry.objects.filter(action="draft_saved", subject=f"draft {recipe.pk}").latest("index")
    assert (edited.actor, edited.details) == ("mallory", {"epsilon": [2.0, 20.0]})
    # The page that answers shows the draft as it stands now, and can publish that.
    signed_in.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    recipe.refresh_from_db()
    assert recipe.published.document["epsilon"] == 20.0


PAGES = ["recipe-new", "recipe-preview", "recipe-promise"]
DRAFT_PAGES = ["recipe-draft", "recipe-draft-edit", "recipe-publish", "recipe-draft-delete"]


def _urls() -> list[str]:
    recipe = draft_recipe()
    return [reverse(name) for name in PAGES] + [reverse(name, args=[recipe.pk]) for name in DRAFT_PAGES]


def test_pages_of_analysts_ask_strangers_to_sign_in(client: Client) -> None:
    for url in _urls():
        for response in (client.get(url), client.post(url)):
            assert response.status_code == 302
            assert response["Location"].startswith(reverse("sign-in"))
    assert Recipe.objects.get().status == "draft"


def test_preview_after_the_session_has_ended_swaps_no_sign_in_form_into_the_page(client: Client) -> None:
    url = f"{reverse('recipe-preview')}?statistic=count_nonzero"
    assert client.post(url, form_data(), HTTP_HX_REQUEST="true").status_code == 401


def test_review_of_a_draft_that_would_never_close_says_so(signed_in: Client) -> None:
    # 990 years: accepted while it is a draft, beyond the year 2999 when it opens now.
    recipe = draft_recipe(steps=11_660, step_seconds=31 * 86_400)
    page = page_text(signed_in.get(reverse("recipe-draft", args=[recipe.pk])))
    assert "cannot be published as it stands" in page
    response = signed_in.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    assert response.status_code == 422


def test_pages_of_analysts_refuse_auditors_on_the_record(client: Client) -> None:
    client.force_login(auditor())
    urls = _urls()
    before = Entry.objects.count()
    for url in urls:
        assert client.post(url, form_data(action="save")).status_code == 403
    assert Recipe.objects.get().status == "draft"
    denied = Entry.objects.filter(action="access_denied")
    assert denied.count() == len(urls) == Entry.objects.count() - before
    assert {entry.actor for entry in denied} == {"audrey"}


def test_publish_without_a_csrf_token_is_refused() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(analyst())
    recipe = draft_recipe()
    response = strict.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    assert response.status_code == 403
    assert "This form has expired" in page_text(response)
    recipe.refresh_from_db()
    assert recipe.status == "draft"


def test_a_question_is_shown_as_text_never_as_markup(signed_in: Client) -> None:
    recipe = draft_recipe(question="<script>alert(1)</script>?")
    page = page_text(signed_in.get(reverse("recipe-draft", args=[recipe.pk])))
    assert "<script>alert" not in page
    assert re.search(r"&lt;script&gt;alert", page)


@pytest.mark.searches
def test_a_huge_draft_number_is_not_found(signed_in: Client) -> None:
    assert signed_in.get(f"/recipes/drafts/{'9' * 30}/").status_code == 404
    assert signed_in.get(f"/recipes/drafts/{'9' * 5000}/").status_code == 404
