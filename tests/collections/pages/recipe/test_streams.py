import html
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from log.audit.models import Entry
from panprivacy.formats.times import format_time
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.state import StreamState
from publishing.publication import recipe_close
from streams.models import AnnouncedIntrusion, SeenState
from streams.operations import estimate_draw
from tests.collections.pages.scene import every_tab, recipe_page, result_document, result_rows
from tests.page_text import page_text
from tests.scenes import account, analyst, announced, auditor, closed_stream, open_recipe, open_stream

pytestmark = pytest.mark.django_db


def administrator(client: Client) -> Client:
    client.force_login(account("ada", is_staff=True, is_superuser=True))
    return client


def test_page_of_a_closed_stream_is_the_same_before_and_after_the_drawing(client: Client) -> None:
    recipe = recipe_close(recipe=announced(open_stream(range(37))), actor=None)
    before = every_tab(client, recipe)
    estimate_draw(identifier=recipe.identifier)
    assert every_tab(client, recipe) == before
    assert "What is kept of the items" in before


def test_open_stream_shows_what_is_kept_and_how_to_send_items_and_no_count(client: Client) -> None:
    recipe = open_stream(range(37))
    page = recipe_page(client, recipe, "recipe-privacy")
    for said in (
        "The curator cannot change it",
        "A curator: this server sees every item",
        "Someone who copies the table without our noticing, and sees it again later",
        "two announced copies, one secret copy and the result",
        "What is kept of the items",
        "2,000",
        "<strong>2 are left</strong>",
    ):
        assert said in page
    assert "a whole number from 0 to 1,999" in recipe_page(client, recipe, "recipe-take-part")
    for tab in ("recipe", "recipe-privacy", "recipe-take-part"):
        for untold in ("Seconds per step", "Encryption", "<progress", "reports", "panprivacy.device"):
            assert untold not in recipe_page(client, recipe, tab)
    progress = recipe_page(client, recipe).split('id="progress-title">')[1].split("</section>")[0]
    assert not re.search(r"\d", re.sub(r"<[^>]+>", "", progress)), "what comes is not counted"
    digest = recipe.published.document["curator"]["sample_digest"]
    assert f'<code class="hash">{digest}</code>' in page
    assert "Digest of the sample" not in every_tab(client, open_recipe())


def test_open_stream_shows_the_probability_of_a_bit_by_intrusion(client: Client) -> None:
    page = recipe_page(client, announced(open_stream()), "recipe-privacy")
    # D₀ = 1/2 and D₁ = 1/2 + ε/4; drawn anew: 1/2 + ε/8 and 1/2 + ε/8 + ε²/16 (PPS section 3).
    cells = re.sub(r' data-label="[^"]*"', "", page)
    assert "<td>50.00%</td><td>up to 62.50%</td>" in cells
    assert "<td>56.25%</td><td>up to 57.81%</td>" in cells
    assert '1 <span class="muted">(now)</span>' in page
    assert "1 is left" in page


def test_guarantees_are_computed_for_the_first_reader(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = open_stream(items="hashed", accuracy="multiplicative")
    first = recipe_page(client, recipe, "recipe-privacy")
    monkeypatch.setattr(Density, "expected_error_bound", None)
    assert recipe_page(client, recipe, "recipe-privacy") == first


PAN_HISTOGRAM = {"statistic": "pan_histogram", "delta": 1e-7, "universe_size": 50, "table_size": None}


@pytest.mark.parametrize(
    "changes",
    [{}, {**PAN_HISTOGRAM, "universe_size": 5}, {"universe_size": 1, "table_size": 1}, {"items": "hashed"}],
)
def test_command_on_the_page_sends_a_batch_that_is_taken(client: Client, changes: dict[str, object]) -> None:
    recipe = open_stream(**changes)
    page = recipe_page(client, recipe, "recipe-take-part")
    command = html.unescape(page.split('id="join-code">')[1].split("</pre>")[0])
    body = command.split('-d "')[1].rsplit('"', 1)[0].replace('\\"', '"').replace("$BATCH", "0" * 32)
    address = reverse("api-items", args=[recipe.identifier])
    assert address in command
    answer = client.post(address, body, content_type="application/json")
    assert answer.json() == {"status": "counted"}


def test_page_says_what_an_intrusion_costs_before_it_is_made(client: Client) -> None:
    recipe = open_stream()
    page = recipe_page(administrator(client), recipe, "recipe-announce")
    assert "It cannot be taken back" in page
    assert "± 0.24" in page
    assert "± 2.0" in page
    assert "The result would say nothing" in page
    assert not AnnouncedIntrusion.objects.exists()


def test_announced_intrusion_is_on_record_and_shows_the_state(client: Client) -> None:
    recipe = open_stream(range(700))
    address = reverse("recipe-announce", args=[recipe.identifier])
    response = administrator(client).post(address, {"reason": " Court order 12/26 "}, follow=True)
    assert response.redirect_chain == [(reverse("recipe-intrusion", args=[recipe.identifier, 1]), 302)]
    entry = Entry.objects.get(action="intrusion_announced")
    assert (entry.actor, entry.details["reason"]) == ("ada", "Court order 12/26")
    page = page_text(response)
    state = StreamState.from_bytes(bytes(SeenState.objects.get().state))
    ones = int(state.arrays["bits"].sum())
    assert f'<th scope="row">1</th><td>{ones:,}</td>' in page
    assert f'<th scope="row">0</th><td>{2_000 - ones:,}</td>' in page
    assert page.split('<path d="')[1].split('"')[0].count("M") == int(state.arrays["bits"][:1536].sum())
    client.logout()
    assert "Intrusion announced" in recipe_page(client, recipe, "recipe-verify")
    assert "Court order" not in every_tab(client, recipe)
    public = recipe_page(client, recipe, "recipe-privacy")
    assert "ada" not in public.split("Announced intrusions so far")[1].split("</section>")[0]


def test_intrusion_without_a_reason_that_can_be_shown_is_refused(client: Client) -> None:
    address = reverse("recipe-announce", args=[open_stream().identifier])
    administrator(client)
    for reason in ("", " \n ", "bell \x07", "x" * 201):
        response = client.post(address, {"reason": reason})
        assert response.status_code == 422
        assert 'id="id_reason_error"' in page_text(response)
    assert not AnnouncedIntrusion.objects.exists()


def test_intrusion_that_cannot_be_is_refused(client: Client) -> None:
    administrator(client)
    drawn = recipe_close(recipe=open_stream(), actor=None)
    estimate_draw(identifier=drawn.identifier)
    for recipe, said in (
        (announced(open_stream(), 2), "the recipe allows no more"),
        (drawn, "the recipe is closed"),
    ):
        address = reverse("recipe-announce", args=[recipe.identifier])
        assert said in page_text(client.get(address, follow=True))
        refused = client.post(address, {"reason": "File 8"}, follow=True)
        assert "Nothing was read or changed" in page_text(refused)
    assert AnnouncedIntrusion.objects.count() == 2


def test_only_administrators_intrude_and_others_learn_of_it(client: Client) -> None:
    recipe, other = open_stream(), open_stream()
    administrator(client)
    for looked_at in (recipe, other):
        client.post(reverse("recipe-announce", args=[looked_at.identifier]), {"reason": "File 7"})
    client.logout()
    seen, file = (
        reverse(name, args=[recipe.identifier, 1]) for name in ("recipe-intrusion", "recipe-intrusion-file")
    )
    announce = reverse("recipe-announce", args=[recipe.identifier])
    assert seen not in every_tab(client, recipe)
    assert [client.get(seen).status_code, client.get(file).status_code] == [302, 302]
    assert client.post(announce).status_code == 302
    entries = {entry.subject: entry for entry in Entry.objects.filter(action="intrusion_announced")}
    told, of_other = (reverse("audit-entry", args=[entries[one.identifier].index]) for one in (recipe, other))
    for reader in (analyst(), auditor(), account("passerby"), account("stella", is_staff=True)):
        client.force_login(reader)
        page = every_tab(client, recipe)
        assert seen not in page
        assert f'href="{announce}"' not in page
        assert "Only administrators see what was seen" in page
        assert (f'by <a href="{told}">ada</a>' in page) is (reader.username != "passerby")
        assert f'href="{of_other}"' not in page
        assert [client.get(seen).status_code, client.get(file).status_code] == [403, 403]
        assert client.post(announce, {"reason": "File 8"}).status_code == 403
    assert AnnouncedIntrusion.objects.count() == 2
    assert Entry.objects.filter(action="access_denied", actor="ana").exists()
    client.force_login(User.objects.get(username="ada"))
    page = recipe_page(client, recipe, "recipe-privacy")
    assert seen in page
    assert f'href="{announce}"' in page
    answers = [client.get(address) for address in (seen, file)]
    assert all({"no-store", "private"} <= set(one["Cache-Control"].split(", ")) for one in answers)
    assert answers[1].content == bytes(SeenState.objects.get(intrusion__identifier=recipe.identifier).state)
    devices = open_recipe()
    assert client.get(reverse("recipe-announce", args=[devices.identifier])).status_code == 404
    assert client.get(reverse("recipe-intrusion", args=[recipe.identifier, 2])).status_code == 404


def test_counters_are_shown_as_how_often_each_range_of_values_comes(client: Client) -> None:
    administrator(client)
    for changes in ({"statistic": "cropped_mean", "t": 40}, PAN_HISTOGRAM):
        recipe = announced(open_stream(**changes))
        response = client.get(reverse("recipe-intrusion", args=[recipe.identifier, 1]))
        for array in response.context["arrays"]:
            assert sum(int(row.places.replace(",", "")) for row in array.rows) == array.places
            assert len(array.rows) <= 16


def test_released_stream_has_its_error_bound_and_intrusions(client: Client) -> None:
    for looks in (0, 1):
        recipe = closed_stream(announced(open_stream(range(700)), looks))
        page, release = recipe_page(client, recipe), recipe.release
        for said in ("Error bound (95%)", "95% interval", "as parts of all items", "(error bound)"):
            assert said in page
        assert "None" not in every_tab(client, recipe)
        document, (row,) = result_document(client, recipe), result_rows(client, recipe)
        assert [float(row["error_bound"])] == release.error_bounds == document["error_bound"]
        assert float(row["confidence"]) == document["confidence"] == document["interval"]["level"] == 0.95
        assert (row["reports"], row["intrusions_made"]) == ("", str(looks))
        intrusions = AnnouncedIntrusion.objects.filter(identifier=recipe.identifier)
        assert document["intrusions_made"] == [
            {"number": one.number, "at": format_time(one.at)} for one in intrusions
        ]
        assert len(document["intrusions_made"]) == looks
        assert document["recipe"]["announced_intrusions"] == 2


def test_stream_without_a_standard_error_has_the_interval_of_its_bound(client: Client) -> None:
    recipe = closed_stream(announced(open_stream(range(700), statistic="cropped_mean", t=4)))
    assert recipe.release.standard_errors == []
    page = recipe_page(client, recipe)
    assert "66% interval" not in page
    assert "Standard error</th>" not in page
    assert "(95%)" in page_text(client.get("/"))
    document, (row,) = result_document(client, recipe), result_rows(client, recipe)
    (value,), (bound,) = recipe.release.values, recipe.release.error_bounds
    ends = {"low": [value - bound], "high": [value + bound]}
    assert document["standard_error"] is None
    assert document["interval"] == {"level": 0.95, **ends, "together": 1}
    assert row["standard_error"] == ""
    assert (float(row["low_95"]), float(row["high_95"])) == (value - bound, value + bound)


def test_intrusion_into_single_elements_is_about_one_entry(client: Client) -> None:
    recipe = open_stream(**PAN_HISTOGRAM)
    # 2ε = 1 and 2δ, for each of two counters (RSP Theorem 5.2).
    certain = "at most 73% sure, apart from a failure probability (δ) of 2e-7"
    page = recipe_page(client, recipe, "recipe-privacy")
    assert "How sure they get that one entry of the stream was one item rather than another" in page
    assert f">{certain}</td>" in page
    asked = recipe_page(administrator(client), recipe, "recipe-announce")
    assert "after this intrusion, that one entry of the stream was one item rather than another." in asked
    assert certain in asked
    assert "an item appeared" not in page + asked


def test_fixed_point_counters_are_shown_in_appearances(client: Client) -> None:
    recipe = announced(open_stream(statistic="heavy_hitters", k=3, n_max=9))
    page = recipe_page(administrator(client), recipe, "recipe-intrusion", 1)
    assert "places, in appearances" in page
    assert "1,073,741,824 are one appearance" in page
    answer = client.get(reverse("recipe-intrusion", args=[recipe.identifier, 1]))
    shown = {array.name: array for array in answer.context["arrays"]}
    low, high = re.fullmatch(r"(\S+) to below (\S+)", shown["multiplicities"].rows[-1].values).groups()
    # r_x lies between 1/(1 + ρ) and 1 + ρ, with ρ = 1.
    assert 0.5 < float(low) < float(high) <= 2.001
    assert shown["bits"].scale == 1
