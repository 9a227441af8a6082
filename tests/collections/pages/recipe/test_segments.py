"""Segments from the form to the result: its page, its files, and what is not shown."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from panprivacy.recipe.document import PublishedRecipe
from recipes.models import Recipe
from simulations.models import Simulation
from simulations.operations import simulation_start
from simulations.selectors import outcome_of
from tests.collections.pages.scene import (
    form_data,
    new_url,
    publish,
    recipe_page,
    result_document,
    result_rows,
)
from tests.collections.simulations.scene import Site, released, run
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import simulated_recipe

pytestmark = pytest.mark.django_db

SEGMENTS = ["2.0", "2.1 <b>", "nightly"]
TRUTH = [(40, 30), (40, 5), (4, 4)]
"""Devices of each segment, and those of them with an event; two more devices are in none."""

CSV = "device,step,events,segment\n" + "".join(
    f"{place}-{number},1,{int(number < having)},{SEGMENTS[place]}\n"
    for place, (devices, having) in enumerate(TRUTH)
    for number in range(devices)
) + "x,1,1,\ny,2,1,\n"  # fmt: skip

FORM = form_data(
    question="Which version crashes more?",
    segments="2.0\r\n2.1 <b>\r\nnightly\r\n\r\n",
    population_size="30000",
    action="save",
)


@pytest.fixture
def simulated(settings: Any) -> Simulation:
    """A released simulation. At ε = 9 a cell flips with 1.2e-4: all of 516 stay below 7 with 1 − 1e-15."""
    settings.SITE_URL = "http://localhost"
    members = recipe_members(segments=SEGMENTS, epsilon=9.0, cohort_size=20)
    simulation = simulation_start(
        members=members, workload={"kind": "events", "csv": CSV}, seed=1, actor=None, public=True
    )
    released(run(simulation, Site()))
    return simulation


def test_segments_pass_from_the_form_to_the_signed_document(signed_in: Client) -> None:
    review = page_text(signed_in.post(new_url(), FORM, follow=True))
    assert "2.0; 2.1 &lt;b&gt;; nightly" in review
    draft = Recipe.objects.get()
    assert draft.draft["segments"] == SEGMENTS
    edited = page_text(signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])))
    assert "2.0 2.1 &lt;b&gt; nightly</textarea>" in edited
    assert "if each of the 3 has 10,000 devices" in edited
    publish(signed_in, draft)
    recipe = Recipe.objects.get()
    assert PublishedRecipe.from_document(json.loads(recipe.document)).segments == tuple(SEGMENTS)
    assert "2.0; 2.1 &lt;b&gt;; nightly" in recipe_page(signed_in, recipe, "recipe-privacy")
    assert '--segment "…"' in recipe_page(signed_in, recipe, "recipe-take-part")
    again = signed_in.get(f"{new_url()}&from={recipe.identifier}")
    assert again.context["form"]["segments"].value() == "\n".join(SEGMENTS)


def test_impossible_segments_land_on_their_field(signed_in: Client) -> None:
    for segments, said in (
        ("\r\n".join(map(str, range(21))), "at most 20 lines"),
        ("2.0\r\n2.0", "is repeated"),
        ("2.0\r\n\r\n2.1", "one line of 1 to 60 characters each"),
        ("2.0\r\n\x1b[2J", "one line of 1 to 60 characters each"),
        ("2.0\r\n" + "x" * 10_000, "lines of 1 to 60 characters"),
        ("x" * 61, "1 to 60 characters each"),
    ):
        response = signed_in.post(new_url(), {**FORM, "segments": segments})
        assert response.status_code == 422
        error = page_text(response).split('id="id_segments_error">')[1].split("</p>")[0]
        assert error.count(said) == 1
        assert "x" * 200 not in error
    assert not Recipe.objects.exists()


def test_form_warns_if_no_segment_would_be_shown_and_says_what_helps(signed_in: Client) -> None:
    few = {**FORM, "population_size": "3200", "action": "preview"}
    page = page_text(signed_in.post(new_url(), few))
    assert "Segments may not be shown: of 3 equally large ones, each surely has about" in page
    (cohort,) = {part.split('"')[0] for part in page.split('value="cohort_size=')[1:]}
    again = page_text(signed_in.post(new_url(), {**few, "cohort_size": cohort}))
    assert "Segments may not be shown" not in again


def test_result_shows_segments_and_nothing_of_small_ones(simulated: Simulation, client: Client) -> None:
    collected = outcome_of(simulated)
    assert collected is not None
    document = result_document(client, simulated.recipe)
    assert document["segments"] == collected.as_dict()["segments"]
    old, new, nightly = document["segments"]
    assert nightly == {
        "label": "nightly",
        "shown": False,
        "reason": "it may have had fewer than 20 devices, the cohort size",
        "devices": None,
        "answers": [],
        "shares": [],
        "intervals": [],
        "difference": None,
        "derived": [],
        "truth": {"devices": 4, "answers": [4.0]},
    }
    assert old["truth"] == {"devices": 40, "answers": [30.0]}
    assert old["devices"] == pytest.approx(40, abs=8)
    assert [interval["level"] for interval in old["intervals"]] == [0.95, 0.66]
    assert new["difference"]["to"] == "2.0"
    assert new["difference"]["more_than_noise"] == [True]
    assert document["truth"] == [39.0], "of all segments; devices of none are not in the answer"
    assert document["estimate"][0] == pytest.approx(39, abs=8)
    page = recipe_page(client, simulated.recipe)
    for said in (
        "2.1 &lt;b&gt;",
        "<strong>more than noise</strong>",
        "<bdi>nightly</bdi>: it may have had fewer than 20 devices, the cohort size.",
    ):
        assert said in page
    assert "<b>" not in page
    assert page.count("30 of 40") == 1
    above = page[: page.index("<summary>Table of segments</summary>")]
    assert "<strong><bdi>2.1 &lt;b&gt;</bdi></strong>" in above
    assert "more than noise" in above
    assert "</strong> is 62.5 points lower (61.5 to 67.5), more than noise." in " ".join(above.split())
    assert "Compared with <bdi>2.0</bdi>: " in " ".join(above.split())


def test_csv_has_a_line_for_each_segment_below_the_whole(simulated: Simulation, client: Client) -> None:
    document = result_document(client, simulated.recipe)
    whole, old, new, nightly = result_rows(client, simulated.recipe)
    assert (whole["segment"], float(whole["estimate"])) == ("", document["estimate"][0])
    for line, told in ((old, document["segments"][0]), (new, document["segments"][1])):
        widest = told["intervals"][0]
        assert line["segment"] == told["label"]
        numbers = [float(line[name]) for name in ("estimate", "low_95", "high_95", "share", "level")]
        assert numbers == [told["answers"][0], *widest["answers"][0], told["shares"][0], widest["level"]]
        assert float(line["segment_devices"]) == told["devices"]
        assert float(line["truth_of_simulation"]) == told["truth"]["answers"][0]
    assert old["difference"] == ""
    assert float(new["difference"]) == document["segments"][1]["difference"]["shares"][0]
    assert (nightly["segment"], nightly["estimate"]) == ("nightly", "")
    assert "fewer than 20 devices" in nightly["segment_reason"]


def test_result_without_segments_says_so_to_programs_only(client: Client) -> None:
    recipe = simulated_recipe({0: 30, 1: 20}, cohort_size=50, epsilon=4.0)
    assert result_document(client, recipe)["segments"] is None
    assert "By segment" not in recipe_page(client, recipe)
