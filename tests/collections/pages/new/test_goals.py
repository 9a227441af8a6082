import pytest
from django.urls import reverse

from pages.new.forms import WEEKS
from pages.new.goals import GOALS
from panprivacy.recipe.series import SeriesDraft
from panprivacy.statistics.intervals.difference import widening
from recipes.models import Recipe
from series.models import Series
from tests.factories import draft_recipe
from tests.page_text import page_text
from web.numbers import significant

pytestmark = pytest.mark.django_db

VERSIONS = {
    "question": "On how many devices did the app crash?",
    "event": "crash",
    "segments": "2.0\n2.1",
    "population": "everyone",
    "population_size": "10000",
    "cohort_size": "1000",
    "epsilon": "1",
    "every": "week",
    "rounds": "4",
}


def _filled(signed_in, key, **changes):
    """The form as a browser sends it."""
    form = signed_in.get(reverse("goal", args=[key])).context["form"]
    values = {name: field.initial for name, field in form.fields.items() if field.initial is not None}
    return {**values, **changes}


def test_new_lists_every_goal_with_an_address_of_its_own(signed_in):
    text = page_text(signed_in.get(reverse("goals")))
    for key, goal in GOALS.items():
        assert goal.question in text
        assert signed_in.get(reverse("goal", args=[key])).status_code == 200
    assert signed_in.get("/new/nothing/").status_code == 404


@pytest.mark.parametrize("key", GOALS)
def test_goal_form_shows_at_most_ten_fields_unfolded(signed_in, key):
    layout = signed_in.get(reverse("goal", args=[key])).context["form"].layout()
    assert len(layout.simple) <= 10
    assert not layout.unfolded
    folded = [field.name for group in layout.settings for field in group.fields]
    assert not {*folded} & {field.name for field in layout.simple}


def test_segments_goal_publishes_a_weekly_series_in_two_posts(signed_in):
    saved = signed_in.post(reverse("goal", args=["segments"]), _filled(signed_in, "segments", **VERSIONS))
    review = signed_in.get(saved.headers["Location"])
    text = page_text(review)
    assert text.index('value="simulate">Simulate it') < text.index('class="secondary">Publish for good')
    assert review.context["preview"].rounds == 4
    published = signed_in.post(saved.headers["Location"].split("?")[0], {"every": "week", "rounds": "4"})
    series = Series.objects.get()
    assert published.headers["Location"] == reverse("series", args=[series.identifier])
    draft = SeriesDraft.from_mapping(series.draft)
    assert (draft.every, draft.rounds, list(draft.recipe.segments)) == ("week", 4, ["2.0", "2.1"])
    assert draft.recipe.name == VERSIONS["question"]


def test_weekly_draft_leads_back_to_its_review_with_its_rounds(signed_in):
    given = _filled(signed_in, "segments", **VERSIONS) | {"rounds": "6"}
    signed_in.post(reverse("goal", args=["segments"]), given)
    draft = reverse("recipe-draft", args=[Recipe.objects.get().pk])
    review = reverse("draft-series", args=[Recipe.objects.get().pk])
    page = signed_in.get(draft)
    assert "Review all 6 rounds" in page_text(page)
    assert "asked every week" in page_text(page)
    assert page.content.decode().index(review) < page.content.decode().index(draft + "publish/")
    assert signed_in.get(review).context["preview"].rounds == 6
    signed_in.post(review, {"every": "week", "rounds": "3", "action": "preview"})
    assert signed_in.get(review).context["preview"].rounds == 3
    assert signed_in.post(review, {"every": "never", "rounds": "5"}).status_code == 422
    assert signed_in.get(review).context["preview"].rounds == 3


def test_goal_form_shows_the_effect_of_all_rounds_as_their_review(signed_in):
    form = signed_in.get(reverse("goal", args=["segments"]))
    assert "These 8 rounds would take" in page_text(form)
    given = _filled(signed_in, "segments", **VERSIONS)
    shown = signed_in.post(f"{reverse('recipe-promise')}?statistic=count_nonzero", given)
    assert "These 4 rounds would take" in page_text(shown)
    saved = signed_in.post(reverse("goal", args=["segments"]), given)
    review = signed_in.get(saved.headers["Location"]).context["preview"]
    assert shown.context["promise"].effect.composed == review.effect.composed


def test_example_of_a_goal_has_the_margin_of_the_values_filled_in(signed_in):
    shown = {key: signed_in.get(reverse("goal", args=[key])).context for key in GOALS}
    weekly = 2 * widening(0.05, 1, 2 * WEEKS)
    for key, margin in (
        ("devices", shown["devices"]["preview"]["margin"]),
        ("trend", significant(weekly * float(shown["trend"]["preview"]["margin_points"]))),
        ("segments", shown["segments"]["moves"]),
        ("average", shown["average"]["preview"]["margin"]),
    ):
        assert f" ± {margin} " in GOALS[key].example


def test_form_of_versions_leads_with_how_far_one_must_move(signed_in):
    text = page_text(signed_in.get(reverse("goal", args=["segments"])))
    assert '<p class="figure-large">17 <span class="unit">points</span>' in text
    assert "must move by about 17 percentage points between two of the 8 rounds to show" in text


def test_series_is_not_offered_for_publishing_without_its_preview(signed_in):
    draft = draft_recipe()
    assert "Ask it every week" in page_text(signed_in.get(reverse("recipe-draft", args=[draft.pk])))
    page = signed_in.get(reverse("draft-series", args=[draft.pk]))
    assert "Publish for good" not in page_text(page)


@pytest.mark.parametrize("missing", ["question", "event", "segments"])
def test_goal_form_without_what_it_needs_names_the_field(signed_in, missing):
    given = _filled(signed_in, "segments", **VERSIONS) | {missing: ""}
    answer = signed_in.post(reverse("goal", args=["segments"]), given)
    assert answer.status_code == 422
    assert [*answer.context["form"].errors] == [missing]
    assert not Recipe.objects.exists()


def test_goal_devices_leads_to_the_review_of_a_draft(signed_in):
    given = _filled(signed_in, "devices", question="How many " + "very " * 40 + "slow?", event="slow")
    saved = signed_in.post(reverse("goal", args=["devices"]), given)
    draft = Recipe.objects.get()
    assert saved.headers["Location"] == reverse("recipe-draft", args=[draft.pk])
    assert draft.name.startswith("How many very")
    assert draft.name.endswith(" …")
    assert len(draft.name) <= 60
