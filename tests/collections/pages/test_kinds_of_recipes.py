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
from pages.recipe.presentation import _differ
from pages.trust_models import SHOWN
from pages.words.planned import planned_of_devices
from pages.words.sentences import guarantee_texts, protection_warning
from panprivacy.catalogue import STATISTICS
from panprivacy.encryption import DEFAULT_SCHEME
from panprivacy.mechanisms import MECHANISMS
from panprivacy.randomizers import RANDOMIZERS
from panprivacy.recipe_members import draft_fields
from panprivacy.recipe_plan import RecipePlan
from panprivacy.shuffle import SHUFFLE_STATISTICS
from panprivacy.shuffle.histogram import ShuffleHistogram
from panprivacy.shuffle.parameters import ShuffleParameters
from panprivacy.streams import STREAM_STATISTICS
from panprivacy.trust import Trust
from panprivacy.trust_models import trusts_of, under_trust
from recipes.item_lists import typed_universe
from recipes.models import Recipe
from streams.models import Stream
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import analyst, stream_members

pytestmark = pytest.mark.django_db

KEY = b"k" * 32


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


@pytest.fixture
def _with_shuffler(settings: Any) -> None:
    settings.SHUFFLER_URL, settings.SHUFFLER_KEY = "https://shuffler.example/shuffler", KEY


def new_url(statistic: str) -> str:
    return f"{reverse('recipe-new')}?statistic={statistic}"


def stream_data(**changes: Any) -> dict[str, Any]:
    data = {**stream_members(), "population": "everyone", "accuracy": "additive", **changes}
    return {name: value for name, value in data.items() if name != "statistic"}


# Every kind


def test_every_statistic_and_every_trust_model_belongs_to_one_kind() -> None:
    assert [name for kind in KINDS.values() for name in kind.statistics] == list(
        {**MECHANISMS, **RANDOMIZERS, **SHUFFLE_STATISTICS, **STREAM_STATISTICS}
    )
    # Devices that randomize one value have the trust models of devices with events.
    assert list(dict.fromkeys(trust for kind in KINDS.values() for trust in kind.trusts)) == list(Trust)
    for statistic in STATISTICS.values():
        assert set(trusts_of(statistic)) <= set(kind_of(statistic).trusts)


@pytest.mark.parametrize(("statistic", "kept"), [("categories", False), ("histogram", True)])
def test_scheme_in_the_form_is_not_asked_of_two_servers_that_get_plain_shares(
    statistic: str, kept: bool
) -> None:
    form = recipe_form_class(STATISTICS[statistic])()
    for trust, expected in (("single_server", True), ("two_server", kept)):
        members = form.members({"trust": trust, "encryption": DEFAULT_SCHEME})
        assert ("encryption" in members) == expected


@pytest.mark.parametrize("trust", Trust)
def test_every_trust_model_says_whom_it_protects_against_and_whom_not(trust: Trust) -> None:
    adversaries = SHOWN[trust].adversaries
    assert {adversary.protected for adversary in adversaries} == {True, False}
    for adversary in adversaries:
        assert adversary.who[0].isupper()
        assert not adversary.learns.endswith(".")
    assert trust in SHOWN


@pytest.mark.parametrize("trust", trusts_of(STATISTICS["categories"]))
def test_nobody_reads_a_device_that_keeps_nothing(trust: Trust) -> None:
    of_events = SHOWN[trust].for_input(STATISTICS["histogram"].device_input)
    of_values = SHOWN[trust].for_input(STATISTICS["categories"].device_input)
    assert of_events == SHOWN[trust]
    opening = [
        adversary for adversary in of_values.adversaries if adversary.who.startswith("Someone who opens")
    ]
    assert [adversary.protected for adversary in opening] == [True]
    assert "event" not in "".join(adversary.learns for adversary in of_values.adversaries)


@pytest.mark.parametrize(("epsilon", "hardly"), [(1.0, False), (4.0, True)])
def test_the_trust_box_and_the_warning_agree_on_how_scrambled_answers_are(
    epsilon: float, hardly: bool
) -> None:
    """Of a replaced category ε is 2, below ln 999, and 8, above."""
    class_ = STATISTICS["categories"]
    statistic = class_(
        class_.parameters_class(k=4, epsilon=epsilon, delta=1e-6, cohort_size=100).calibrated()
    )
    assert bool(protection_warning(statistic.local_guarantees())) is hardly
    for trust in trusts_of(class_):
        said = [adversary.learns for adversary in SHOWN[trust].for_statistic(statistic).adversaries]
        assert any("hardly scrambles" in learns for learns in said) is hardly
        assert any("scrambled by the device" in learns for learns in said) is not hardly


def test_where_no_epsilon_holds_the_page_says_so_and_not_that_none_is_computed() -> None:
    class_ = STATISTICS["vector_mean"]
    made = class_.parameters_class(dimension=6, epsilon=1.0, delta=1e-6, cohort_size=10**6).calibrated()
    texts = guarantee_texts(under_trust(class_(made).local_guarantees(), Trust.TWO_SERVER))
    assert texts
    for text in texts:
        assert "no ε holds for this δ" in text.sentence
        assert (text.epsilon, text.delta, text.numbers) == ("none holds", "", "no ε holds for this δ")
        assert "not computed" not in text.sentence


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_form_has_what_a_draft_of_the_statistic_may_say_and_nothing_else(statistic: str) -> None:
    class_ = STATISTICS[statistic]
    fields = set(recipe_form_class(class_).base_fields)
    told = {*draft_fields(class_, trusts_of(class_)[0]), *class_.parameters_class.names()} - {"statistic"}
    assert told - set(class_.parameters_class.derived_names()) - fields == set()
    assert fields - told == set()
    groups = recipe_form_class(class_)().groups()
    grouped = [field.name for group in groups for field in (*group.simple, *group.folded)]
    assert sorted(grouped) == sorted(fields)


def test_help_of_one_form_is_not_that_of_another() -> None:
    forms = {name: recipe_form_class(class_) for name, class_ in STATISTICS.items()}
    assert "last step" in forms["count_nonzero"].base_fields["closes_at"].help_text
    assert "last step" not in forms["density"].base_fields["closes_at"].help_text
    assert "what they keep" in forms["count_nonzero"].base_fields["encryption"].help_text


@pytest.mark.usefixtures("_with_shuffler")
@pytest.mark.parametrize("statistic", sorted({**SHUFFLE_STATISTICS, **STREAM_STATISTICS}))
def test_new_recipe_page_starts_from_values_that_could_be_published(
    signed_in: Client, statistic: str
) -> None:
    page = page_text(signed_in.get(new_url(statistic)))
    assert "What to expect" in page
    assert "What is promised" in page
    assert "It could not be published" not in page
    assert "∞" not in page
    assert "no ε is promised" not in page
    assert "No preview" not in page
    assert page.count('type="radio"') == 0


@pytest.mark.usefixtures("_with_shuffler")
@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_untouched_form_proposes_a_recipe_whose_result_says_something(
    signed_in: Client, statistic: str
) -> None:
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
        largest = preview.population_size if mechanism.counts_devices else mechanism.largest
        assert float(preview.margin.replace(",", "")) < largest / 2
    if statistic in SHUFFLE_STATISTICS and response.context["preview"].gives_verdict:
        # In standard errors; three are mostly noticed.
        found = re.search(r"raise it by at least ([0-9.]+) standard errors", page)
        assert found is not None
        assert float(found[1]) >= 3


def test_allowed_look_is_said_to_be_paid_for_where_it_is(signed_in: Client) -> None:
    for name, class_ in STREAM_STATISTICS.items():
        members = {
            "epsilon": 0.5,
            "delta": 1e-7,
            "universe_size": 1000,
            "items": "numbered",
            "table_size": 1000,
        }
        members |= {"t": 2, "k": 4, "n_max": 4}
        known = {field: members[field] for field in class_.parameters_class.names() if field in members}
        never, once = (
            class_(
                class_.parameters_class.from_mapping({**known, "announced_intrusions": looks}).calibrated()
            )
            for looks in (0, 1)
        )
        dearer = never.guarantee(0).epsilon != once.guarantee(1).epsilon
        page = html.unescape(page_text(signed_in.get(new_url(name))))
        assert ("costs privacy even if it is never made" in page) is dearer


def test_effect_on_the_budget_includes_looks_where_items_come_to_a_curator(signed_in: Client) -> None:
    pages = {name: page_text(signed_in.get(new_url(name))) for name in ("density", "count_nonzero")}
    looks = "the state at every announced look that a recipe allows and once in secret (aggregator)"
    assert looks in pages["density"]
    assert "nothing else (aggregator)" not in pages["density"]
    assert "every combined result and nothing else (aggregator)" in pages["count_nonzero"]


def test_form_says_where_a_list_of_items_is_entered(signed_in: Client) -> None:
    for statistic in STREAM_STATISTICS:
        page = html.unescape(page_text(signed_in.get(new_url(statistic))))
        assert "You enter the list when you publish the draft" in page


def test_choice_page_groups_statistics_by_who_collects(signed_in: Client) -> None:
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


def test_preview_of_a_stream_shows_what_every_announced_look_costs(signed_in: Client) -> None:
    url = f"{reverse('recipe-preview')}?statistic=density"
    page = page_text(signed_in.post(url, stream_data()))
    bounds = [float(bound) for bound in re.findall(r"<td>± ([0-9.]+)", page)]
    assert len(bounds) == 3
    assert bounds == sorted(bounds)
    assert page.count("says nothing") == 2
    assert "of the truth, as parts of all items (error bound)" in page
    alone = page_text(signed_in.post(url, stream_data(announced_intrusions=0)))
    assert "No look can be announced" in alone


def preview_text(client: Client, statistic: str, **changes: Any) -> str:
    url = f"{reverse('recipe-preview')}?statistic={statistic}"
    data = stream_data(statistic=statistic, **changes)
    return page_text(client.post(url, data))


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
def test_preview_through_a_shuffler_flags_a_margin_of_half_the_range_or_more(
    margin: float, useless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of 200 possible answers, on either side of 100.
    parameters = ShuffleParameters(epsilon=3.0, delta=1e-2, cohort_size=200, k=4)
    monkeypatch.setattr(ShuffleHistogram, "expected_margin", lambda _, failure_probability: margin)
    assert preview_of_shuffle(ShuffleHistogram(parameters), None).says_nothing == useless


def test_preview_of_a_stream_names_what_its_error_includes(signed_in: Client) -> None:
    choice = "the choice of the items that have a place in it"
    assert choice not in preview_text(signed_in, "density")
    assert choice in preview_text(signed_in, "density", table_size=1_000)
    counters = preview_text(signed_in, "pan_histogram", delta=1e-7, universe_size=50, table_size=50)
    assert choice not in counters
    assert "random bits" not in counters
    assert "This includes the random numbers in what is kept and the noise of the result" in counters


def test_preview_of_a_stream_says_what_its_expected_error_holds_for(signed_in: Client) -> None:
    condition = "if at most half of all items come"
    assert preview_text(signed_in, "density", items="hashed").count(condition) == 2
    assert condition not in preview_text(signed_in, "density", items="numbered")


def test_promise_of_a_stream_says_how_sure_somebody_gets_who_looks(signed_in: Client) -> None:
    url = f"{reverse('recipe-promise')}?statistic=density"
    page = page_text(signed_in.post(url, stream_data()))
    assert "two announced copies, one secret copy and the result" in page
    assert "at most 65% sure" in page
    assert "user level" in page


def test_effect_of_a_stream_is_about_items_and_states_its_condition(signed_in: Client) -> None:
    url = f"{reverse('recipe-promise')}?statistic=pan_histogram"
    data = stream_data(statistic="pan_histogram", delta=1e-7, universe_size=50, table_size=50)
    page = html.unescape(page_text(signed_in.post(url, data)))
    assert "one item's whole history" in page
    assert "device" not in page.split("Effect on the budget")[1]
    assert "under the condition that everybody contributes one element" in page
    other = page_text(signed_in.post(f"{reverse('recipe-promise')}?statistic=density", stream_data()))
    assert "condition" not in other.split("Effect on the budget")[1]


def test_effect_names_the_largest_delta_that_fits_instead_of_an_infinite_epsilon(signed_in: Client) -> None:
    url = f"{reverse('recipe-promise')}?statistic=pan_histogram"
    data = stream_data(statistic="pan_histogram", delta=1e-6, universe_size=50, table_size=50)
    page = page_text(signed_in.post(url, data))
    assert "∞" not in page
    # 2δ, against the 10⁻⁶ at which spending is shown.
    assert "2e-6 in total, is above the population's δ of 1e-6" in html.unescape(page)
    fitting = float(re.findall(r"the largest that fits is δ = (\S+)\. ", page)[0])
    assert 4.9e-7 < fitting <= 5e-7


def test_stream_is_drafted_reviewed_and_published(signed_in: Client) -> None:
    response = signed_in.post(new_url("density"), stream_data(action="save"), follow=True)
    page = page_text(response)
    assert "What will be public" in page
    assert "Seconds per step" not in page
    assert "Encryption" not in page
    assert "An empty table is drawn for it" in page
    recipe = Recipe.objects.get()
    published = signed_in.post(
        reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash}, follow=True
    )
    assert "Published. Items are accepted from the opening time on." in page_text(published)
    assert Stream.objects.filter(identifier=Recipe.objects.get().identifier).exists()


def test_list_of_items_is_given_when_it_is_published_and_kept_nowhere(signed_in: Client) -> None:
    members = stream_data(items="listed", universe_size=3, table_size=3, action="save")
    page = page_text(signed_in.post(new_url("density"), members, follow=True))
    assert 'name="universe"' in page
    draft = Recipe.objects.get()
    publish, reviewed = reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash}
    short = signed_in.post(publish, {**reviewed, "universe": "ada\n\nbob\n"})
    assert short.status_code == 422
    assert "universe" in short.context["blockers"].problems[0]
    assert "ada" in page_text(short).split("<textarea")[1]
    signed_in.post(publish, {**reviewed, "universe": "ada\r\n bob \r\n\r\ncharles"})
    recipe = Recipe.objects.get()
    assert recipe.status == "published"
    assert "charles" not in f"{recipe.draft}{recipe.document}"
    address = reverse("api-items", args=[recipe.identifier])
    batch = {"batch": "0" * 32, "items": ["charles", "dora"]}
    assert signed_in.post(address, batch, content_type="application/json").status_code == 200


@pytest.mark.parametrize(
    ("pasted", "refused"),
    [
        ('item\r\nada\r\n\r\nbob\r\n"c, d"\r\n', ""),
        ("ada\nbob\nitem", ""),
        ("item\nitem\nada\nbob", ""),
        ("item\nada\nbob", "must list 3 items, not 2"),
        ("item\nada\nbob\ncharles,d", "line 4: must have 1 cell (item), not 2"),
        ("item\nada\n\nada\nbob", 'must not list an item twice: "ada" is on line 2 and on line 4'),
        ("ada\n\nbob\n ada", 'must not list an item twice: "ada" is on line 1 and on line 4'),
    ],
)
def test_list_of_items_is_lines_or_a_csv_whose_header_is_no_item(
    signed_in: Client, pasted: str, refused: str
) -> None:
    members = stream_data(items="listed", universe_size=3, table_size=3, action="save")
    signed_in.post(new_url("density"), members)
    answer = signed_in.post(
        reverse("recipe-publish", args=[Recipe.objects.get().pk]),
        {"universe": pasted, "reviewed": Recipe.objects.get().draft_hash},
    )
    assert Recipe.objects.get().status == ("draft" if refused else "published")
    if refused:
        assert answer.context["blockers"].problems == (f"universe: {refused}.",)


def test_pasted_csv_has_the_items_that_the_command_reads_in_it() -> None:
    assert typed_universe('item\r\n"a, b"\r\n c \r\n') == ["a, b", " c "]
    assert typed_universe('"a, b"\r\n c \r\n') == ['"a, b"', "c"]
    assert typed_universe("item\nitem\nada") == ["item", "ada"]


def test_published_page_of_devices_needs_no_list(signed_in: Client) -> None:
    signed_in.post(
        new_url("count_nonzero"),
        {
            **recipe_members(),
            "population": "everyone",
            "population_size": 10,
            "sampling_rate": 1,
            "step_seconds": 60,
            "encryption": "elgamal-secp256k1",
            "action": "save",
        },
    )
    page = page_text(signed_in.get(reverse("recipe-draft", args=[Recipe.objects.get().pk])))
    assert "<textarea" not in page


# Shufflers


def test_form_of_a_shuffler_that_is_not_there_says_so_and_still_shows_what_to_expect(
    signed_in: Client,
) -> None:
    page = page_text(signed_in.get(new_url("shuffle_histogram")))
    assert "no shuffler is set up" in page
    assert "± " in page
    assert "as this server does" in page


def test_cohort_that_is_too_small_for_the_noise_is_refused_on_its_field(signed_in: Client) -> None:
    data = {"epsilon": 1, "delta": 1e-6, "k": 4, "cohort_size": 100, "population": "everyone"}
    response = signed_in.post(new_url("shuffle_histogram"), {**data, "name": "n", "question": "q"})
    assert response.status_code == 422
    (error,) = response.context["form"].errors["cohort_size"]
    assert error.count("Must be at least") == 1
    preview = signed_in.post(f"{reverse('recipe-preview')}?statistic=shuffle_histogram", data)
    assert page_text(preview).count("Must be at least") == 1


@pytest.mark.parametrize(("k", "flagged"), [(10, True), (100, False)])
def test_preview_of_a_shuffled_recipe_flags_a_margin_of_half_the_range_or_more(
    signed_in: Client, k: int, flagged: bool
) -> None:
    # Of k places, ± 9.8 where k is 10 and ± 31 where k is 100.
    data = {"epsilon": 1, "delta": 1e-7, "k": k, "cohort_size": 10_000, "hashed": "no"}
    url = f"{reverse('recipe-preview')}?statistic=distinct_elements"
    page = page_text(signed_in.post(url, {**data, "population": "everyone"}))
    assert "95 of 100 repeats" in page
    assert ("The result would say nothing" in page) is flagged


def test_preview_of_a_test_promises_a_verdict_and_no_margin(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url("uniformity")))
    figures = page.split('id="preview-figures"')[1]
    assert "A verdict" in figures
    assert "95 of 100 repeats" not in figures
    assert "<circle" not in figures


@pytest.mark.parametrize(("participation", "reporting"), [("cover", 10_000), ("relayed", 1_800)])
def test_preview_of_rare_categories_says_the_default_s_error_and_who_sends(
    participation: str, reporting: int
) -> None:
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
    planned = planned_of_devices(statistic, RecipePlan(population_size=10_000))
    assert planned is not None
    assert planned.basis.endswith("that hear of it, for all values but the default")
    # M/2N of the nine tenths with the default, and ten times as many of the others, less the limit of 0.99.
    assert preview.reporting == pytest.approx(reporting, rel=0.06)


def test_margins_that_differ_much_are_told_one_by_one() -> None:
    assert _differ([57.0, 6.0, 6.0])
    assert not _differ([6.0, 7.0, 6.5])
    assert not _differ([None, 6.0])
