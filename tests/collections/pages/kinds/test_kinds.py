import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from pages.kinds import KINDS, kind_of
from pages.publish.device_preview import preview_of_devices
from pages.publish.forms import recipe_form_class
from pages.publish.shuffle_preview import preview_of_shuffle
from pages.trust_models import SHOWN
from pages.words.plan import planned_of_devices
from pages.words.sentences import protection_warning
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import DEFAULT_SCHEME
from panprivacy.planning.limits import local_epsilon
from panprivacy.planning.recipe_plan import RecipePlan
from panprivacy.recipe.file_fields import draft_fields
from panprivacy.recipe.parts.interface import Subject
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.randomized import RANDOMIZERS
from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistics.shuffle.histogram import ShuffleHistogram
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.streams import STREAM_STATISTICS
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of
from recipes.item_lists import typed_universe
from recipes.models import Recipe
from streams.models import Stream
from tests.collections.pages.scene import new_url, publish
from tests.page_text import page_text
from tests.scenes import stream_members

pytestmark = pytest.mark.django_db

KEY = b"k" * 32


@pytest.fixture
def _with_shuffler(settings: Any) -> None:
    settings.SHUFFLER_URL, settings.SHUFFLER_KEY = "https://shuffler.example/shuffler", KEY


def stream_data(**changes: Any) -> dict[str, Any]:
    data = {**stream_members(), "population": "everyone", "accuracy": "additive", **changes}
    return {name: value for name, value in data.items() if name != "statistic"}


# Every kind


def test_every_statistic_and_every_trust_model_has_one_group() -> None:
    assert [name for kind in KINDS.values() for name in kind.statistics] == list(
        {**MECHANISMS, **RANDOMIZERS, **SHUFFLE_STATISTICS, **STREAM_STATISTICS}
    )
    # Devices that randomize one value have the trust models of devices with events.
    assert {trust for kind in KINDS.values() for trust in kind.trusts} == set(Trust)
    for statistic in STATISTICS.values():
        assert set(trusts_of(statistic)) <= set(kind_of(statistic).trusts)


def test_form_leaves_out_what_its_trust_model_does_not_have() -> None:
    for statistic, trust, kept in (
        ("categories", "single_server", {"encryption"}),
        ("categories", "two_server", set()),
        ("count_nonzero", "two_server", {"encryption"}),
        ("count_nonzero", "joint_key", {"bundle"}),
    ):
        form = recipe_form_class(STATISTICS[statistic])()
        members = form.members({"trust": trust, "encryption": DEFAULT_SCHEME, "bundle": "auditors"})
        assert members.keys() & {"encryption", "bundle"} == kept


def test_every_trust_model_says_whom_it_protects_against_and_whom_not() -> None:
    assert set(SHOWN) == set(Trust)
    for model in SHOWN.values():
        assert {adversary.protected for adversary in model.adversaries} == {True, False}
        for adversary in model.adversaries:
            assert adversary.who[0].isupper()
            assert not adversary.learns.endswith(".")
    two = {adversary.who: adversary.protected for adversary in SHOWN[Trust.TWO_SERVER].adversaries}
    assert two["One server alone that follows the protocol"]
    assert not two["One server that cheats"]
    assert not two["Someone who opens the device, with one server"]
    assert not two["Both servers together"]
    joint = {adversary.who: adversary.protected for adversary in SHOWN[Trust.JOINT_KEY].adversaries}
    assert joint["One server alone, even one that cheats"]
    assert not joint["One server that leaves out reports, or refuses"]


def test_device_that_keeps_nothing_is_safe_from_intruders() -> None:
    for trust in trusts_of(STATISTICS["categories"]):
        assert SHOWN[trust].for_input(STATISTICS["histogram"].device_input) == SHOWN[trust]
        of_values = SHOWN[trust].for_input(STATISTICS["categories"].device_input).adversaries
        opening = [one.protected for one in of_values if one.who.startswith("Someone who opens")]
        assert opening == [True]
        assert "event" not in "".join(adversary.learns for adversary in of_values)


@pytest.mark.parametrize(("epsilon", "hardly"), [(1.0, False), (4.0, True)])
def test_trust_box_and_warning_agree_on_how_scrambled_answers_are(epsilon: float, hardly: bool) -> None:
    """Of a replaced category ε is 2, below ln 999, and 8, above."""
    class_ = STATISTICS["categories"]
    statistic = class_(
        class_.parameters_class(k=4, epsilon=epsilon, delta=1e-6, cohort_size=100).calibrated()
    )
    local = local_epsilon(statistic)
    assert bool(protection_warning(statistic.local_guarantees())) is hardly
    for trust in trusts_of(class_):
        shown = SHOWN[trust].for_reports(statistic.device_input, local)
        said = [adversary.learns for adversary in shown.adversaries]
        assert any("hardly scrambles" in learns for learns in said) is hardly
        assert any("scrambled by the device" in learns for learns in said) is not hardly


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_form_has_what_a_draft_of_the_statistic_may_say_and_nothing_else(statistic: str) -> None:
    class_ = STATISTICS[statistic]
    fields = set(recipe_form_class(class_).base_fields)
    subjects = [Subject(class_, TRUST_MODELS[trust]) for trust in trusts_of(class_)]
    told = {
        *(field for subject in subjects for field in draft_fields(subject)),
        *class_.parameters_class.names(),
    } - {"statistic"}
    computed = set(class_.parameters_class.names()) - set(class_.parameters_class.entered_names())
    assert told - computed - fields == set()
    assert fields - told == set()
    layout = recipe_form_class(class_)().layout()
    assert len(layout.simple) <= 10
    settings = [field for group in layout.settings for field in group.fields]
    grouped = [field.name for field in (*layout.simple, *settings)]
    assert sorted(grouped) == sorted(fields)


@pytest.mark.usefixtures("_with_shuffler")
@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_untouched_form_proposes_a_useful_recipe(signed_in: Client, statistic: str) -> None:
    response = signed_in.get(new_url(statistic))
    page = html.unescape(page_text(response))
    assert response.context["preview"] is not None
    for refused in ("would say nothing", "Nothing would be released", "could not be published", "No preview"):
        assert refused not in page
    if statistic in MECHANISMS:  # whose preview warns of releases only
        preview, class_ = response.context["preview"], STATISTICS[statistic]
        values = {name: field.initial for name, field in recipe_form_class(class_).base_fields.items()}
        named = {
            name: values[name] for name in class_.parameters_class.names() if values.get(name) is not None
        }
        mechanism = class_(class_.parameters_class.from_mapping({**named, "delta": float(named["delta"])}))
        largest = preview["population_size"] if mechanism.counts_devices else mechanism.largest
        assert float(preview["margin"].replace(",", "")) < largest / 2
    if statistic in SHUFFLE_STATISTICS and response.context["preview"]["hypothesis_test"]:
        # In standard errors; three are mostly noticed.
        found = re.search(r"raise it by at least ([0-9.]+) standard errors", page)
        assert found is not None
        assert float(found[1]) >= 3


def test_choice_page_groups_statistics_by_their_collector(signed_in: Client) -> None:
    page = html.unescape(page_text(signed_in.get(reverse("recipe-new"))))
    places = [page.index(f">{kind.title}<") for kind in KINDS.values()]
    assert places == sorted(places)
    for kind, start, end in zip(KINDS.values(), places, [*places[1:], len(page)], strict=True):
        for statistic in kind.statistics:
            assert start < page.index(f"?statistic={statistic}") < end
    assert "Result: a verdict" in page
    assert "Result in of" not in page


def test_planner_offers_devices_only_and_says_where_to_go_for_others(client: Client) -> None:
    page = page_text(client.get(reverse("plan")))
    for statistic in {**SHUFFLE_STATISTICS, **STREAM_STATISTICS}.values():
        named = f'?statistic={statistic.statistic}">{escape(statistic.title)}</a>'
        assert f'href="{reverse("recipe-new")}{named}' in page
        assert f'href="?statistic={statistic.statistic}"' not in page


# Streams


def test_preview_of_a_stream_shows_what_every_intrusion_costs(signed_in: Client) -> None:
    page = preview_text(signed_in, "density")
    bounds = [float(bound) for bound in re.findall(r"<td>± ([0-9.]+)", page)]
    assert len(bounds) == 3
    assert bounds == sorted(bounds)
    assert page.count("says nothing") == 2
    assert "of the truth, as parts of all items (error bound)" in page
    assert "No intrusion can be announced" in preview_text(signed_in, "density", announced_intrusions=0)
    condition = "if at most half of all items come"
    assert preview_text(signed_in, "density", items="hashed").count(condition) == 2
    assert condition not in preview_text(signed_in, "density", items="numbered")
    promise = page_text(signed_in.post(new_url("density", page="recipe-promise"), stream_data()))
    for said in ("two announced copies, one secret copy and the result", "at most 65% sure", "user level"):
        assert said in promise


def preview_text(client: Client, statistic: str, **changes: Any) -> str:
    data = stream_data(statistic=statistic, **changes)
    return page_text(client.post(new_url(statistic, page="recipe-preview"), data))


def test_preview_of_a_stream_flags_an_error_of_half_the_range_or_more(signed_in: Client) -> None:
    # ± 0.76 and ± 0.36 of a fraction: the middle is never further off than 0.5.
    flagged = preview_text(signed_in, "density", announced_intrusions=0, universe_size=200, table_size=200)
    assert 0.5 < float(re.findall(r"± ([0-9.]+)", flagged)[0]) < 1
    assert "The result would say nothing" in flagged
    assert "Guessing the middle would be as good. A larger ε helps" in flagged
    useful = preview_text(signed_in, "density", announced_intrusions=0, universe_size=900, table_size=900)
    assert 0.25 < float(re.findall(r"± ([0-9.]+)", useful)[0]) < 0.5
    assert "say nothing" not in useful


@pytest.mark.parametrize(("margin", "useless"), [(101.0, True), (99.0, False)])
def test_preview_through_a_shuffler_flags_half_the_range_or_more(
    margin: float, useless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of 200 possible answers, on either side of 100.
    parameters = ShuffleParameters(epsilon=3.0, delta=1e-2, cohort_size=200, k=4)
    monkeypatch.setattr(ShuffleHistogram, "expected_margin", lambda _, failure_probability: margin)
    assert preview_of_shuffle(ShuffleHistogram(parameters), None).uninformative == useless


def test_effect_names_the_largest_delta_that_fits_not_an_infinite_epsilon(signed_in: Client) -> None:
    data = stream_data(statistic="pan_histogram", delta=1e-6, universe_size=50, table_size=50)
    page = page_text(signed_in.post(new_url("pan_histogram", page="recipe-promise"), data))
    assert "∞" not in page
    # 2δ, against the 10⁻⁶ at which spending is shown.
    assert "2e-6 in total, is above the population's δ of 1e-6" in html.unescape(page)
    fitting = float(re.findall(r"the largest that fits is δ = (\S+)\. ", page)[0])
    assert 4.9e-7 < fitting <= 5e-7


def test_stream_is_drafted_reviewed_and_published(signed_in: Client) -> None:
    page = page_text(signed_in.post(new_url("density"), stream_data(action="save"), follow=True))
    for said, expected in (
        ("What will be public", True),
        ("An empty table is drawn for it", True),
        ("Seconds per step", False),
        ("Encryption", False),
    ):
        assert (said in page) is expected
    published = publish(signed_in, Recipe.objects.get(), follow=True)
    assert "Published. Items are accepted from the opening time on." in page_text(published)
    assert Stream.objects.filter(identifier=Recipe.objects.get().identifier).exists()


def test_list_of_items_is_given_when_it_is_published_and_kept_nowhere(signed_in: Client) -> None:
    members = stream_data(items="listed", universe_size=3, table_size=3, action="save")
    page = page_text(signed_in.post(new_url("density"), members, follow=True))
    assert 'name="universe"' in page
    draft = Recipe.objects.get()
    address, reviewed = reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash}
    for pasted, refused in (
        ("item\nada\nbob", "must list 3 items, not 2"),
        ("item\nada\nbob\ncharles,d", "line 4: must have 1 cell (item), not 2"),
        ("item\nada\n\nada\nbob", 'must not list an item twice: "ada" is on line 2 and on line 4'),
        ("ada\n\nbob\n ada", 'must not list an item twice: "ada" is on line 1 and on line 4'),
    ):
        answer = signed_in.post(address, {**reviewed, "universe": pasted})
        assert answer.status_code == 422
        assert answer.context["blockers"].problems == (f"universe: {refused}.",)
        assert "ada" in page_text(answer).split("<textarea")[1]
    signed_in.post(address, {**reviewed, "universe": 'item\r\nada\r\n bob \r\n\r\n"charles, d"\r\n'})
    recipe = Recipe.objects.get()
    assert recipe.status == "published"
    assert "charles" not in f"{recipe.draft}{recipe.document}"
    batch = {"batch": "0" * 32, "items": ["charles, d", "dora"]}
    sent = signed_in.post(
        reverse("api-items", args=[recipe.identifier]), batch, content_type="application/json"
    )
    assert sent.status_code == 200


def test_pasted_csv_has_the_items_that_the_command_reads_in_it() -> None:
    assert typed_universe('item\r\n"a, b"\r\n c \r\n') == ["a, b", " c "]
    assert typed_universe('\r\n\r\n"item"\r\n"a, b"\r\n') == ["a, b"]
    assert typed_universe('"a, b"\r\n c \r\n5" "x"\r\n') == ["a, b", "c", '5" "x"']
    assert typed_universe("item\nitem\nada") == ["item", "ada"]


# Shufflers


def test_form_without_a_shuffler_says_so_and_shows_what_to_expect(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url("shuffle_histogram")))
    for said in ("no shuffler is set up", "± ", "as this server does"):
        assert said in page
    figures = page_text(signed_in.get(new_url("uniformity"))).split('id="preview-figures"')[1]
    assert "A verdict" in figures
    for of_estimates in ("95 of 100 repeats", "<circle"):
        assert of_estimates not in figures


def test_cohort_that_is_too_small_for_the_noise_is_refused_on_its_field(signed_in: Client) -> None:
    data = {"epsilon": 1, "delta": 1e-6, "k": 4, "cohort_size": 100, "population": "everyone"}
    response = signed_in.post(new_url("shuffle_histogram"), {**data, "name": "n", "question": "q"})
    assert response.status_code == 422
    (error,) = response.context["form"].errors["cohort_size"]
    assert error.count("Must be at least") == 1
    preview = signed_in.post(f"{reverse('recipe-preview')}?statistic=shuffle_histogram", data)
    assert page_text(preview).count("Must be at least") == 1


@pytest.mark.parametrize(("participation", "reporting"), [("cover", 10_000), ("relayed", 1_800)])
def test_preview_of_rare_categories_says_the_defaults_error(participation: str, reporting: int) -> None:
    statistic = STATISTICS["rare_categories"](
        STATISTICS["rare_categories"]
        .parameters_class(
            k=4,
            epsilon=4.0,
            delta=1e-6,
            cohort_size=100,
            participation=participation,
            devices=10_000,
            counted_devices=2_000,
            rare_share=0.1,
        )
        .calibrated()
    )
    preview = preview_of_devices(statistic, 10_000)
    assert "The default's standard error is about" in preview.note
    assert preview.without == "the default"
    planned = planned_of_devices(statistic, RecipePlan(population_size=10_000), 0.1)
    assert planned.basis.endswith("that hear of it, for all values but the default")
    # M/2N of the nine tenths with the default, and ten times as many of the others, less the limit of 0.99.
    assert preview.reporting == pytest.approx(reporting, rel=0.06)
