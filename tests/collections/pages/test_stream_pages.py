import csv
import html
import io
import json
import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import Entry
from panprivacy.streams.density import Density
from panprivacy.streams.state import StreamState
from panprivacy.times import format_time
from recipes.models import Recipe
from streams.models import AnnouncedIntrusion, SeenState
from streams.operations import estimate_draw
from tests.page_text import page_text
from tests.scenes import (
    account,
    analyst,
    announced,
    auditor,
    closed_stream,
    open_recipe,
    open_stream,
    stream_members,
)
from trust_models.publishing import recipe_close, recipe_publish_file

pytestmark = pytest.mark.django_db


def page_of(client: Client, recipe: Recipe, name: str = "recipe", *arguments: object) -> str:
    response = client.get(reverse(name, args=[recipe.identifier, *arguments]))
    assert response.status_code == 200
    return page_text(response)


def administrator(client: Client) -> Client:
    client.force_login(account("ada", is_staff=True, is_superuser=True))
    return client


# The public page


def test_page_of_a_closed_stream_is_the_same_before_and_after_the_drawing(client: Client) -> None:
    recipe = recipe_close(recipe=announced(open_stream(range(37))), actor=None)
    before = page_of(client, recipe)
    estimate_draw(identifier=recipe.identifier)
    assert page_of(client, recipe) == before
    assert "What is kept of the items" in before


def test_between_drawing_and_release_no_intrusion_can_be_announced(client: Client) -> None:
    recipe = recipe_close(recipe=open_stream(), actor=None)
    estimate_draw(identifier=recipe.identifier)
    address = reverse("recipe-announce", args=[recipe.identifier])
    administrator(client)
    asked = client.get(address, follow=True)
    tried = client.post(address, {"reason": "File 7"}, follow=True)
    for answer in (asked, tried):
        assert "the recipe is closed" in page_text(answer)
    assert not AnnouncedIntrusion.objects.exists()


def test_open_stream_shows_what_is_kept_and_how_to_send_items_and_no_count(client: Client) -> None:
    page = page_of(client, open_stream(range(37)))
    for said in (
        "A curator: this server sees every item",
        "Someone who copies the table without our noticing, and sees it again later",
        "two announced copies, one secret copy and the result",
        "What is kept of the items",
        "2,000",
        "<strong>2 are left</strong>",
        "a whole number from 0 to 1,999",
    ):
        assert said in page
    for untold in ("Seconds per step", "Encryption", "<progress", "reports", "devices_sim"):
        assert untold not in page.split("Verify it yourself")[0]
    progress = page.split('id="progress-title">')[1].split("</section>")[0]
    assert not re.search(r"\d", re.sub(r"<[^>]+>", "", progress)), "nobody counts what comes"


def test_open_stream_shows_the_probability_of_a_bit_after_every_announced_look(client: Client) -> None:
    page = page_of(client, announced(open_stream()))
    # D₀ = 1/2 and D₁ = 1/2 + ε/4; drawn anew: 1/2 + ε/8 and 1/2 + ε/8 + ε²/16 (PPS section 3).
    cells = re.sub(r' data-label="[^"]*"', "", page)
    assert "<td>50.00%</td><td>up to 62.50%</td>" in cells
    assert "<td>56.25%</td><td>up to 57.81%</td>" in cells
    assert '1 <span class="muted">(now)</span>' in page
    assert "1 is left" in page


def test_what_holds_after_looks_is_computed_for_the_first_reader_only(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = open_stream(items="hashed", accuracy="multiplicative")
    first = page_of(client, recipe)
    monkeypatch.setattr(Density, "expected_error_bound", None)
    assert page_of(client, recipe) == first


PAN_HISTOGRAM = {"statistic": "pan_histogram", "delta": 1e-7, "universe_size": 50, "table_size": None}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {**PAN_HISTOGRAM, "universe_size": 5},
        {"universe_size": 1, "table_size": 1},
        {"items": "hashed"},
    ],
)
def test_command_on_the_page_is_a_batch_that_the_address_takes(
    client: Client, changes: dict[str, object]
) -> None:
    recipe = open_stream(**changes)
    page = page_text(client.get(reverse("recipe", args=[recipe.identifier])))
    command = html.unescape(page.split('id="join-code">')[1].split("</pre>")[0])
    body = command.split('-d "')[1].rsplit('"', 1)[0].replace('\\"', '"').replace("$BATCH", "0" * 32)
    address = reverse("api-items", args=[recipe.identifier])
    assert address in command
    answer = client.post(address, body, content_type="application/json")
    assert answer.json() == {"status": "counted"}


@pytest.mark.parametrize(("looks", "left"), [(0, True), (2, False)])
def test_only_administrators_are_offered_a_look_and_only_while_one_is_left(
    client: Client, looks: int, left: bool
) -> None:
    recipe = announced(open_stream(), looks)
    address = reverse("recipe-announce", args=[recipe.identifier])
    assert f'href="{address}"' not in page_of(client, recipe)
    client.force_login(analyst())
    assert f'href="{address}"' not in page_of(client, recipe)
    assert (f'href="{address}"' in page_of(administrator(client), recipe)) is left


# Announcing


def test_administrator_is_told_what_a_look_costs_before_it_is_made(client: Client) -> None:
    recipe = open_stream()
    page = page_of(administrator(client), recipe, "recipe-announce")
    assert "It cannot be taken back" in page
    assert "± 0.24" in page
    assert "± 2.0" in page
    assert "The result would say nothing any more" in page
    assert not AnnouncedIntrusion.objects.exists()


def test_announced_look_is_on_record_and_shows_what_was_seen(client: Client) -> None:
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
    public = page_of(client, recipe)
    assert "Intrusion announced" in public
    assert "Court order" not in public
    assert "ada" not in public.split("Announced looks so far")[1].split("</section>")[0]


def test_page_names_nobody_who_looked_at_another_recipe(client: Client) -> None:
    ours, other = open_stream(), open_stream()
    administrator(client)
    for recipe, reason in ((ours, "12/26"), (other, "13/26")):
        client.post(reverse("recipe-announce", args=[recipe.identifier]), {"reason": reason})
    entries = {entry.subject: entry for entry in Entry.objects.filter(action="intrusion_announced")}
    page = page_of(client, ours)
    address_of = {subject: reverse("audit-entry", args=[entry.index]) for subject, entry in entries.items()}
    assert f'href="{address_of[ours.identifier]}"' in page
    assert f'href="{address_of[other.identifier]}"' not in page


@pytest.mark.parametrize("reason", ["", " \n ", "bell \x07", "x" * 201])
def test_look_without_a_reason_that_can_be_shown_is_refused_and_changes_nothing(
    client: Client, reason: str
) -> None:
    recipe = open_stream()
    response = administrator(client).post(
        reverse("recipe-announce", args=[recipe.identifier]), {"reason": reason}
    )
    assert response.status_code == 422
    assert 'id="id_reason_error"' in page_text(response)
    assert not AnnouncedIntrusion.objects.exists()


def test_reason_of_a_look_is_shown_in_the_log(client: Client) -> None:
    announced(open_stream())
    client.force_login(auditor())
    entry = Entry.objects.get(action="intrusion_announced")
    assert "File 7" in page_text(client.get(reverse("audit")))
    assert "<dt>Reason</dt><dd>File 7</dd>" in page_text(
        client.get(reverse("audit-entry", args=[entry.index]))
    )


def test_look_beyond_what_the_recipe_allows_is_refused(client: Client) -> None:
    recipe = announced(open_stream(), 2)
    address = reverse("recipe-announce", args=[recipe.identifier])
    administrator(client)
    assert "the recipe allows no more" in page_text(client.get(address, follow=True))
    refused = page_text(client.post(address, {"reason": "File 8"}, follow=True))
    assert "Nothing was read or changed" in refused
    assert AnnouncedIntrusion.objects.count() == 2


def test_nobody_but_administrators_may_announce_and_others_are_on_record(client: Client) -> None:
    recipe = open_stream()
    address = reverse("recipe-announce", args=[recipe.identifier])
    assert client.post(address).status_code == 302
    client.force_login(analyst())
    assert client.post(address).status_code == 403
    assert not AnnouncedIntrusion.objects.exists()
    assert Entry.objects.filter(action="access_denied", actor="ana").count() == 1


def test_what_was_seen_is_for_administrators_and_others_learn_that_somebody_looked(client: Client) -> None:
    recipe = open_stream()
    administrator(client).post(reverse("recipe-announce", args=[recipe.identifier]), {"reason": "File 7"})
    client.logout()
    pages = [
        reverse(name, args=[recipe.identifier, 1]) for name in ("recipe-intrusion", "recipe-intrusion-file")
    ]
    assert pages[0] not in page_of(client, recipe)
    assert [client.get(page).status_code for page in pages] == [302, 302]
    entry = Entry.objects.get(action="intrusion_announced")
    told = f'by <a href="{reverse("audit-entry", args=[entry.index])}">ada</a>'
    for reader in (analyst(), auditor(), account("passerby"), account("stella", is_staff=True)):
        client.force_login(reader)
        page = page_of(client, recipe)
        assert pages[0] not in page
        assert "Only administrators see what was seen" in page
        assert (told in page) is (reader.username != "passerby")
        assert [client.get(page).status_code for page in pages] == [403, 403]
    client.force_login(User.objects.get(username="ada"))
    assert pages[0] in page_of(client, recipe)
    assert [client.get(page).status_code for page in pages] == [200, 200]
    assert client.get(pages[1]).content == bytes(SeenState.objects.get().state)


@pytest.mark.parametrize("name", ["recipe-intrusion", "recipe-intrusion-file"])
def test_what_was_seen_is_kept_by_no_browser_or_proxy(client: Client, name: str) -> None:
    recipe = announced(open_stream())
    answer = administrator(client).get(reverse(name, args=[recipe.identifier, 1]))
    assert answer.status_code == 200
    assert {"no-store", "private"} <= set(answer["Cache-Control"].split(", "))


def test_pages_of_a_state_are_not_found_where_there_is_none(client: Client) -> None:
    administrator(client)
    devices, stream = open_recipe(), open_stream()
    assert client.get(reverse("recipe-announce", args=[devices.identifier])).status_code == 404
    assert client.get(reverse("recipe-intrusion", args=[stream.identifier, 1])).status_code == 404


@pytest.mark.parametrize(
    ("statistic", "changes"), [("cropped_mean", {"t": 40}), ("pan_histogram", {"universe_size": 50})]
)
def test_counters_are_shown_as_how_often_each_range_of_values_comes(
    client: Client, statistic: str, changes: dict[str, object]
) -> None:
    more = {"delta": 1e-6, "table_size": None} if statistic == "pan_histogram" else {}
    recipe = announced(open_stream(statistic=statistic, **changes, **more))
    administrator(client)
    response = client.get(reverse("recipe-intrusion", args=[recipe.identifier, 1]))
    for array in response.context["arrays"]:
        assert sum(int(row.places.replace(",", "")) for row in array.rows) == array.places
        assert len(array.rows) <= 16


# The result


def test_released_stream_has_its_error_bound_beside_the_interval(client: Client) -> None:
    recipe = closed_stream(open_stream(range(700)))
    release = recipe.release
    page = page_of(client, recipe)
    for said in ("Error bound (95%)", "95% interval", "as parts of all items", "(error bound)"):
        assert said in page
    assert "from None" not in page
    (row,) = csv.DictReader(
        io.StringIO(client.get(reverse("result-csv", args=[recipe.identifier])).getvalue().decode())
    )
    assert [float(row["error_bound"])] == release.error_bounds
    assert float(row["confidence"]) == 0.95
    assert row["reports"] == ""
    document = json.loads(client.get(reverse("result-json", args=[recipe.identifier])).getvalue())
    assert document["error_bound"] == release.error_bounds
    assert document["confidence"] == 0.95
    assert document["interval"]["level"] == 0.95


def test_released_stream_without_a_standard_error_shows_the_interval_of_its_bound(client: Client) -> None:
    recipe = closed_stream(announced(open_stream(range(700), statistic="cropped_mean", t=4)))
    assert recipe.release.standard_errors == []
    page = page_of(client, recipe)
    assert "66% interval" not in page
    assert "Standard error</th>" not in page
    assert "(95%)" in page_text(client.get("/"))
    document = json.loads(client.get(reverse("result-json", args=[recipe.identifier])).getvalue())
    assert document["standard_error"] is None
    (value,), (bound,) = recipe.release.values, recipe.release.error_bounds
    assert document["interval"] == {
        "level": 0.95,
        "low": [value - bound],
        "high": [value + bound],
        "together": 1,
    }
    (row,) = csv.DictReader(
        io.StringIO(client.get(reverse("result-csv", args=[recipe.identifier])).getvalue().decode())
    )
    assert row["standard_error"] == ""
    assert (float(row["low_95"]), float(row["high_95"])) == (value - bound, value + bound)


def test_files_of_a_released_stream_say_which_intrusions_were_made_beside_how_many_were_allowed(
    client: Client,
) -> None:
    for stream, made in ((open_stream(range(700)), 0), (announced(open_stream(range(700))), 1)):
        recipe = closed_stream(stream)
        intrusions = AnnouncedIntrusion.objects.filter(identifier=recipe.identifier)
        document = json.loads(client.get(reverse("result-json", args=[recipe.identifier])).getvalue())
        assert document["intrusions_made"] == [
            {"number": i.number, "at": format_time(i.at)} for i in intrusions
        ]
        assert len(document["intrusions_made"]) == made
        assert document["recipe"]["announced_intrusions"] == 2
        (row,) = csv.DictReader(
            io.StringIO(client.get(reverse("result-csv", args=[recipe.identifier])).getvalue().decode())
        )
        assert row["intrusions_made"] == str(made)


def test_simulated_stream_is_not_said_to_come_from_devices(client: Client) -> None:
    recipe = recipe_publish_file(members=stream_members(), actor=None, simulation=True)
    recipe = closed_stream(recipe)
    page = page_of(client, recipe)
    assert "This is a simulation: some or all sources are simulated." in page
    assert "Whether the sources are simulated." in page
    assert "device" not in page.split("<main")[1].split("</main>")[0]


def test_closing_a_stream_says_what_becomes_of_it(client: Client) -> None:
    recipe = open_stream()
    client.force_login(analyst())
    page = page_of(client, recipe, "recipe-close")
    assert "No item is accepted afterwards" in page
    assert "reports" not in page.split("<main")[1].split("</main>")[0]


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (open_stream, "Closed. No further item is accepted; the result is computed from the state."),
        (open_recipe, "Closed. The result follows once every report is added up."),
    ],
)
def test_closed_recipe_says_what_follows_of_its_kind(
    client: Client, scene: Callable[[], Recipe], said: str
) -> None:
    client.force_login(analyst())
    response = client.post(reverse("recipe-close", args=[scene().identifier]), follow=True)
    assert said in page_text(response)


# What differs by statistic


def test_look_at_single_elements_is_about_one_entry_and_keeps_its_allowance(client: Client) -> None:
    recipe = open_stream(**PAN_HISTOGRAM)
    # 2ε = 1 and 2δ, for each of two counters (RSP Theorem 5.2).
    certain = "at most 73% sure, apart from a failure probability (δ) of 2e-7"
    page = page_of(client, recipe)
    assert "How sure they get that one entry of the stream was one item rather than another" in page
    assert f">{certain}</td>" in page
    asked = page_of(administrator(client), recipe, "recipe-announce")
    assert "after this look, that one entry of the stream was one item rather than another." in asked
    assert certain in asked
    assert "an item appeared" not in page + asked


def test_expected_error_says_what_it_holds_for(client: Client) -> None:
    recipe = open_stream(items="hashed")
    administrator(client)
    for name in ("recipe", "recipe-announce"):
        assert "(95%, if at most half of all items come)" in page_of(client, recipe, name)


def test_look_at_a_result_that_says_nothing_anyway_is_not_said_to_spoil_it(client: Client) -> None:
    recipe = open_stream(universe_size=40, table_size=40)
    page = page_of(administrator(client), recipe, "recipe-announce")
    assert "The result would say nothing, with or without this look" in page
    assert "any more" not in page


def test_fixed_point_counters_are_shown_in_appearances(client: Client) -> None:
    changes = {"statistic": "heavy_hitters", "k": 3, "n_max": 9}
    recipe = announced(open_stream(**changes))
    page = page_of(administrator(client), recipe, "recipe-intrusion", 1)
    assert "places, in appearances" in page
    assert "1,073,741,824 are one appearance" in page
    shown = {
        array.name: array
        for array in client.get(reverse("recipe-intrusion", args=[recipe.identifier, 1])).context["arrays"]
    }
    low, high = re.fullmatch(r"(\S+) to below (\S+)", shown["multiplicities"].rows[-1].values).groups()
    # r_x lies between 1/(1 + ρ) and 1 + ρ, with ρ = 1.
    assert 0.5 < float(low) < float(high) <= 2.001
    assert shown["bits"].scale == 1


def test_page_of_a_curator_shows_the_digest_that_binds_it(client: Client) -> None:
    recipe = open_stream()
    page = page_of(client, recipe)
    digest = recipe.published.document["curator"]["sample_digest"]
    assert f'<code class="hash">{digest}</code>' in page
    assert "The curator cannot change it" in page
    assert "Digest of the sample" not in page_of(client, open_recipe())


def test_statistics_go_by_their_titles(client: Client) -> None:
    recipe = open_stream(**PAN_HISTOGRAM)
    overview = page_text(client.get(reverse("overview")))
    for page in (page_of(client, recipe), overview):
        assert "Appearances of each item" in page
        assert "pan histogram" not in page


def test_result_that_says_nothing_says_so_on_its_page_and_its_card(client: Client) -> None:
    recipe = closed_stream(open_stream([1, 2, 3], universe_size=40, table_size=40))
    assert "This result says nothing" in page_of(client, recipe)
    assert "of all items: says nothing" in page_text(client.get(reverse("overview")))
