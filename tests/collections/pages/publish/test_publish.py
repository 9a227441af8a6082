import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from log.audit.models import Entry
from recipes.models import AskedAgain, Recipe
from recipes.operations import recipe_draft_save
from recipes.selectors import recipe_asked_again
from tests.collections.pages.scene import draft_page, form_data, new_url, publish, recipe_page
from tests.collections.publishing import scene
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst, auditor, open_stream

pytestmark = pytest.mark.django_db


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


PROMISE = ("What is promised", "Effect on the budget", "would take", "under replacement")


def test_preview_alone_has_figures_only_and_fetches_the_promise(signed_in: Client) -> None:
    url = new_url(page="recipe-preview")
    page = page_text(signed_in.post(url, form_data(name="", question=""), HTTP_HX_REQUEST="true"))
    # √(10,000·e)/(e−1) = 95.95 for randomized response of one bit: ± 190 devices.
    for said in ("± 190", "1.9 percentage points", "95 of 100 repeats"):
        assert said in page
    assert f'hx-post="{new_url(page="recipe-promise")}"' in page
    promised = promise(signed_in, "histogram", k="10", name="")
    assert all(said in promised for said in PROMISE)
    assert "ε =" not in page
    assert "<html" not in page + promised
    assert signed_in.get(new_url("median")).status_code == 404
    # Beside every ε of the promise stand its δ and its relation.
    items = [item for item in re.findall(r"<li>.*?</li>", promised) if "ε =" in item]
    assert items
    for item in items:
        assert item.count("δ =") == len(re.findall(r"(?<!found: )ε =", item))
        assert "replacement" in item or "add/remove" in item


@pytest.mark.parametrize(("target", "missed"), [("0.01", True), ("20", False)])
def test_preview_and_review_say_whether_a_target_is_met(signed_in: Client, target: str, missed: bool) -> None:
    assert ("It cannot be published" in promise(signed_in, aggregator_epsilon=target)) is missed
    data = form_data(aggregator_epsilon=target, action="save")
    review = page_text(signed_in.post(new_url(), data, follow=True))
    assert ("Smallest cohort that fits: " in review) is missed
    assert ("Largest ε that fits: " in review) is missed
    # What is refused can be read in full, and not be published by mistake.
    for text in ("Someone who sees only the combined result", "Cohort size", "Effect on the budget"):
        assert text in review
    assert ("<button disabled>Publish" in review) is missed


def test_preview_leads_to_the_planner_with_the_same_numbers(signed_in: Client) -> None:
    page = page_text(signed_in.post(new_url(page="recipe-preview"), form_data(epsilon="1.5")))
    address = re.search(r'href="(/plan/[^"]+)"', page)
    assert address is not None
    assert 'value="1.5"' in page_text(signed_in.get(html.unescape(address[1])))


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
    response = publish(signed_in, recipe)
    recipe.refresh_from_db()
    assert (recipe.status, recipe.simulation) == ("published", False)
    assert "Devices can take part" in page_text(signed_in.get(response["Location"]))
    assert response["Location"] == reverse("recipe", args=[recipe.identifier])
    assert Entry.objects.get(action="recipe_published").actor == "ana"
    assert "Nothing was changed" in page_text(publish(signed_in, recipe, follow=True))
    assert Entry.objects.filter(action="recipe_published").count() == 1


def test_publish_of_a_draft_that_closes_too_early_or_never_says_so(signed_in: Client) -> None:
    recipe = draft_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2020-02-01T00:00:00Z")
    review = draft_page(signed_in, recipe)
    assert "It would have closed already; choose later times." in review
    assert "<button disabled>Publish" in review
    response = publish(signed_in, recipe)
    assert response.status_code == 422
    assert "It would have closed already" in page_text(response)
    # 990 years: accepted while it is a draft, beyond the year 2999 when it opens now.
    endless = draft_recipe(steps=11_660, step_seconds=31 * 86_400)
    assert "cannot be published like this" in draft_page(signed_in, endless)
    assert publish(signed_in, endless).status_code == 422
    # The button empties the times, which saves a draft that can be published.
    form = page_text(signed_in.get(f"{reverse('recipe-draft-edit', args=[recipe.pk])}?opens_at=&closes_at="))
    assert "2020-02-01" not in form.split('name="closes_at"')[1].split(">")[0]
    assert "Changed; it was 2020-02-01 00:00 UTC." in form


@pytest.mark.parametrize("members", [{"statistic": "median"}, {"bandwidth": 3}, {"steps": 0}])
def test_draft_of_another_version_can_be_deleted(signed_in: Client, members: dict[str, object]) -> None:
    recipe = draft_recipe()
    recipe.draft |= members
    recipe.statistic = recipe.draft["statistic"]
    recipe.save()
    for method, name in (("get", "recipe-draft"), ("get", "recipe-draft-edit"), ("post", "recipe-publish")):
        answer = getattr(signed_in, method)(reverse(name, args=[recipe.pk]), follow=True)
        assert answer.status_code < 500
    page = draft_page(signed_in, recipe)
    named = {"steps": "Steps"}.get(next(iter(members)), next(iter(members)))
    assert "It cannot be published like this" in page
    assert f"<li>{named}: " in page
    signed_in.post(reverse("recipe-draft-delete", args=[recipe.pk]))
    assert not Recipe.objects.exists()


def test_delete_removes_a_draft_but_never_a_published_recipe(signed_in: Client) -> None:
    draft, published = draft_recipe(), published_recipe()
    signed_in.post(again_url(published), form_data(action="save"))
    for recipe in Recipe.objects.all():
        signed_in.post(reverse("recipe-draft-delete", args=[recipe.pk]))
    assert list(Recipe.objects.all()) == [published]
    assert not Recipe.objects.filter(pk=draft.pk).exists()
    for name in ("recipe-draft", "recipe-draft-edit"):
        response = signed_in.get(reverse(name, args=[published.pk]))
        assert response["Location"] == reverse("recipe", args=[published.identifier])


@pytest.mark.parametrize("named", [True, False])
def test_draft_that_another_edits_while_it_is_read_is_not_published(signed_in: Client, named: bool) -> None:
    """What was reviewed is what is published, and the log says who edited it."""
    recipe = draft_recipe()
    assert f'name="reviewed" value="{recipe.draft_hash}"' in draft_page(signed_in, recipe)
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
    publish(signed_in, recipe)
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
    # HTMX swaps in no form of signing in after the session has ended.
    preview = client.post(new_url(page="recipe-preview"), form_data(), HTTP_HX_REQUEST="true")
    assert preview.status_code == 401
    assert Recipe.objects.get().status == "draft"


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
    response = publish(strict, recipe)
    assert response.status_code == 403
    assert "This form has expired" in page_text(response)
    recipe.refresh_from_db()
    assert recipe.status == "draft"


def test_form_names_every_wrong_field_the_first_time(signed_in: Client, settings: Any) -> None:
    settings.SMALLEST_COHORT, settings.LARGEST_EPSILON, settings.LARGEST_DELTA = 1_000, 1.0, 1e-6
    wrong = {"event": "Not One", "segments": "a\na"}
    for changes, fields in (
        ({**wrong, "closes_at": "2001-01-01T00:00"}, {"event", "segments"}),
        ({**wrong, "question": ""}, {"question", "event", "segments"}),
        ({"epsilon": "0", "question": "", "event": "Not One"}, {"epsilon", "question", "event"}),
        (
            {"event": "Not One", "cohort_size": "500", "epsilon": "2", "delta": "1e-5"},
            {"event", "cohort_size", "epsilon", "delta"},
        ),
    ):
        form = signed_in.post(new_url(), form_data(action="save", **changes)).context["form"]
        assert set(form.errors) >= fields
        assert "__all__" not in form.errors


def again_url(recipe: Recipe) -> str:
    return f"{reverse('recipe-new')}?statistic={recipe.statistic}&from={recipe.identifier}"


def test_recipe_page_leads_analysts_to_a_form_filled_in_from_it(signed_in: Client) -> None:
    recipe = published_recipe(epsilon=1.75, closes_at="2030-01-01T00:00:00Z")
    assert again_url(recipe).replace("&", "&amp;") in recipe_page(signed_in, recipe)
    assert "Ask again" not in recipe_page(Client(), recipe)
    page = page_text(signed_in.get(again_url(recipe)))
    for value in ("Crash counter", "On how many devices did it crash?", "1.75"):
        assert f'value="{value}"' in page
    # Its times are over when it is asked again.
    assert "2030-01-01" not in page.split('name="closes_at"')[1].split(">")[0]
    assert 'value="Visitors"' in page_text(signed_in.get(again_url(open_stream())))


def test_edited_fields_are_marked_and_listed_before_publishing(signed_in: Client) -> None:
    recipe = published_recipe(epsilon=2.0)
    # A browser sends every choice, also those that the recipe's file leaves out.
    untouched = {"admission": "open", "relay": "", "trust": "single_server", "bundle": "public"}
    data = form_data(name="Crash counter", steps="4", epsilon="1.25", cohort_size="5", **untouched)
    form = page_text(signed_in.post(again_url(recipe), {**data, "action": "preview"}))
    assert 'id="mark_epsilon">Changed; it was 2.<' in form
    assert 'id="mark_steps"><' in form
    assert form.count("Changed; it was") == 1
    review = page_text(signed_in.post(again_url(recipe), {**data, "action": "save"}, follow=True))
    for said in ("Changed from", "<del>2</del>", "<ins>1.25</ins>"):
        assert said in review
    assert review.count("<ins>") == 1
    draft = Recipe.objects.get(status="draft")
    assert recipe_asked_again(draft) == recipe
    edited = page_text(signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])))
    assert "Changed; it was 2." in edited
    alone = signed_in.post(f"{new_url(page='recipe-preview')}&from={recipe.identifier}", data)
    assert 'id="mark_epsilon" hx-swap-oob="true">Changed; it was 2.' in page_text(alone)


def test_form_says_what_a_joint_key_does_not_have(signed_in: Client, settings: Any) -> None:
    data = form_data(trust="joint_key", admission="open", bundle="public", segments="a\nb", action="preview")
    alone = page_text(signed_in.post(new_url(), data))
    assert "Cannot be “Two servers with one joint key (experimental)”: no helper is set up" in alone
    assert "Is not a field" not in alone
    settings.LEADER_URL, settings.HELPER_URL = scene.LEADER_URL, scene.HELPER_URL
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)
    form = page_text(signed_in.post(new_url(), data))
    for said in (
        "Two servers with one joint key (experimental)",
        "its proof of security has had no outside review",
        "What is published stays published: a later quantum computer could decrypt single reports",
        "Must be left out under “Two servers with one joint key (experimental)”: a report is one bit.",
    ):
        assert said in form
    any_sender = page_text(signed_in.post(new_url(), {**data, "segments": ""}))
    assert "Must be token: under “Two servers with one joint key (experimental)”, reports" in any_sender


@pytest.mark.parametrize(
    ("access", "who"), [(None, "The public"), ("auditors", "Auditors and analysts of this site")]
)
def test_review_says_who_may_recompute_the_result(signed_in: Client, access: str | None, who: str) -> None:
    review = draft_page(signed_in, draft_recipe(trust="joint_key", bundle=access))
    assert re.search(rf"Who may recompute the result</th><td>{who}</td>", review)
    for absent in ("Encryption</th>", "Ask it in rounds"):
        assert absent not in review
    assert "Trust model</th><td>Two servers with one joint key (experimental)" in review


def test_recipe_that_is_not_there_cannot_be_asked_again(signed_in: Client) -> None:
    for identifier in ("0" * 64, "abc", "%00", "0" * 63 + "%00", "9" * 4000):
        for name in ("from", "draft"):
            url = f"{new_url()}&{name}={identifier}"
            assert signed_in.get(url).status_code in (200, 400, 404)
            assert signed_in.post(url, form_data()).status_code < 500
    assert not AskedAgain.objects.exists()
    for digits in (30, 5000):
        assert signed_in.get(f"/recipes/drafts/{'9' * digits}/").status_code == 404


def test_draft_cannot_be_asked_again_nor_read_by_others_through_the_form(client: Client) -> None:
    draft = draft_recipe(name="Secret plan")
    client.force_login(account("passerby"))
    answer = client.get(f"{reverse('recipe-new')}?statistic=count_nonzero&draft={draft.pk}")
    assert answer.status_code == 403


def promise(client: Client, statistic: str = "count_nonzero", **changes: Any) -> str:
    url = new_url(statistic, page="recipe-promise")
    return page_text(client.post(url, form_data(**changes), HTTP_HX_REQUEST="true"))


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"epsilon": "0"}, "epsilon", "Must be from 1e-6 to 20."),
        ({"epsilon": "21"}, "epsilon", "Must be from 1e-6 to 20."),
        ({"cohort_size": "1"}, "cohort_size", "Must be from 2 to 1,000,000,000."),
        ({"population_size": "0"}, "population_size", "Must be from 1 to 10,000,000,000."),
        (
            {"opens_at": "2030-01-02T00:00", "closes_at": "2030-01-01T00:00"},
            "closes_at",
            "Must be later than “Opens at (UTC)” by more than 7 days (604,800 s), which the steps take.",
        ),
        ({"question": None}, "question", ""),
        ({"name": "nul\x00"}, "name", ""),
        ({"step_seconds": "9" * 5000}, "step_seconds", ""),
        ({"encryption": "rot13"}, "encryption", ""),
        ({"delta": "nan"}, "delta", ""),
        ({"population": "nowhere"}, "population", ""),
        # Noise that no decryption can search for: only the mechanism knows.
        ({"statistic": "mean", "k": "1000", "guarantee": "local", "epsilon": "0.0001"}, "epsilon", ""),
    ],
)
def test_save_with_an_impossible_value_names_field_and_range(
    signed_in: Client, changes: dict[str, Any], field: str, said: str
) -> None:
    statistic = changes.get("statistic", "count_nonzero")
    response = signed_in.post(new_url(statistic), form_data(action="save", **changes))
    assert response.status_code == 422
    errors = response.context["form"].errors
    assert list(errors) == [field]
    assert errors[field] == [said] or not said
    assert f'id="id_{field}_error"' in page_text(response)
    assert not Recipe.objects.exists()


def test_page_shows_the_promise_and_its_effect_and_saves_nothing(signed_in: Client) -> None:
    pages = (signed_in.get(new_url()), signed_in.post(new_url(), form_data(action="preview", name="")))
    for page in pages:
        assert page.status_code == 200
        assert all(said in page_text(page) for said in PROMISE)
        assert reverse("recipe-promise") not in page_text(page)
    # A preview of an invalid form leaves the figures and names the field.
    invalid = signed_in.post(new_url(page="recipe-preview"), form_data(epsilon="-3"))
    assert invalid["HX-Retarget"] == "#preview-problem"
    assert "<strong>Privacy loss (ε):</strong>" in page_text(invalid)
    assert "circle" not in page_text(invalid)
    assert "Not computed for these values." in promise(signed_in, epsilon="-3")
    assert not Recipe.objects.exists()
