"""The record of processing of every trust model: one structure, as a page, a file and Markdown."""

import html
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from markdown_it import MarkdownIt

from ledger.budget import Budget
from ledger.models import Population
from ledger.operations import population_create
from ledger.selectors import balance_of, spent_by
from pages.kinds import kind_of
from pages.recipe.record import FILL_IN, MOST_LINES, Record, record_of
from pages.recipe.record_markdown import record_markdown
from pages.words.certainty import epsilon_text
from pages.words.given import Copied, Given
from panprivacy.statistics.catalogue import STATISTICS
from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import Recipe
from results.operations import result_withhold
from series.models import RoundsDocument, Series
from series.operations import rounds_advance, series_publish, series_stop
from tests.collections.joint_key.scene import joint_recipe
from tests.collections.publishing.scene import two_server_recipe
from tests.collections.shuffle.analyzer.conftest import _analyzer  # noqa: F401  # for every test
from tests.collections.shuffle.analyzer.scene import shuffle_recipe
from tests.collections.storage.answers.scene import work, workers_answer
from tests.collections.tokens.admission.scene import FakeIssuer, token_recipe
from tests.factories import recipe_members
from tests.scenes import analyst, announced, finished_recipe, open_recipe, open_stream, simulated_recipe
from tests.target_scene import DECLARED, counted, declare, file_of, publish
from tests.unreadable import make_unreadable

pytestmark = pytest.mark.django_db

HOSTILE = "| <script>alert(1)</script> `x` **b** [a](javascript:b) https://evil.example \\| אבג"


def targeted() -> Recipe:
    """With tokens, a relay, sampling and a target."""
    population_create(name="os", description="", budget=None, actor=None)
    declare("os", DECLARED)
    return publish(file_of(("os", "linux", counted(population="os")), population="os"))


RECIPES: dict[str, tuple[Callable[[], Recipe], tuple[str, ...]]] = {
    "one server": (
        lambda: open_recipe(),
        (
            "Reads each answer, scrambled by the device",
            "Encrypted notes on the device",
            "elgamal-secp256k1",
            "computational assumption",
            "an attacker with this server's private key reads each report",
            "Any device may report",
            "This server sees addresses while requests last.",
            "Directly to this server",
            "Each device notes for 4 days whether something happens",
            "Receives and decrypts every report; releases the result.",
            "scrambled by the device (the local guarantee). Only by ε = 2",
            "Whether the event happened, once per report; network address while a request lasts",
            "at least 5 devices that follow the protocol. For anyone but this server.",
            "Replacement (all that one device contributes",
        ),
    ),
    "two servers": (
        lambda: two_server_recipe(segments=["2.0", "2.1"]),
        (
            "https://helper.example/helper",
            "an attacker who controls both servers",
            "Signed by this site, helper",
            "Segments 2.0; 2.1",
            "a segment that fits one person",
            "Directly to the leader",
            "X-Wing, made to withstand later quantum computers",
            "Whether the event happened and the device's segment, once per report",
            "and make the result wrong. Only by ε = 4",
            "that is, on the two servers not putting their shares together",
        ),
    ),
    "joint key": (
        lambda: joint_recipe(bundle="auditors"),
        (
            "https://helper.example/helper",
            "Who may recompute the result Auditors and analysts of this site",
            "Signed by this site, helper, issuer",
            "Encrypted reports with their tokens, at this site and at all who fetch them",
            "for good if there is a result",
            "ElGamal on BLS12-381, with Groth–Sahai proofs",
            "Later quantum computers could decrypt kept reports.",
            "Read each answer, scrambled by the device (the local guarantee). Only by ε = 2",
            "the two servers not decrypting reports together",
            "its proof of security has had no outside review",
        ),
    ),
    "shuffler": (
        lambda: shuffle_recipe(simulation=False),
        (
            "https://shuffler.example/shuffler",
            "mostly its true value",
            "A shuffler that cheats",
            "Directly to the shuffler",
            "The shuffler sees addresses while requests last.",
            "Reads the mixed messages; releases the result.",
            "The value of the device, once per report",
        ),
    ),
    "curator": (
        lambda: announced(open_stream()),
        (
            "People in the items",
            "each is forgotten once the table is changed",
            "one secret copy",
            "Receives and reads every item; keeps a noisy table, and releases the result.",
            "The item, once per item; network address while a request lasts",
        ),
    ),
    "one value": (
        lambda: open_recipe(statistic="categories", steps=None, k=3, labels=["a", "b", "c"]),
        (
            "Each device scrambles its value",
            "Labels a; b; c",
            "the application stores of the value",
            "one moves a value by at most",
            "The category of the device, once per report",
            "Each device scrambles its value and sends it at once, keeping nothing.",
        ),
    ),
    "target": (
        targeted,
        (
            "Asks only devices with os = linux",
            "Through a relay only",
            "https://attester.example/attester",
            "Relay and site together see which address sent which report.",
            "the target is as large as the cited results show",
            "Reports need a token",
            "About 50% of devices take part",
            "privacy loss ε = 20, δ = 0.01",
            "identifiers of devices at the attester",
        ),
    ),
    "simulation": (
        lambda: simulated_recipe({0: 40, 1: 20}),
        ("This is a simulation", "A simulation spends no budget.", "State Released, "),
    ),
    "hardly scrambled": (
        lambda: open_recipe(statistic="mean", k=2, guarantee="aggregator", cohort_size=100),
        (
            "Single answers are hardly scrambled here",
            "how far is not stated here",
            "which the device hardly scrambles here. Not protected",
            "How often the event happened, once per report",
        ),
    ),
}


def words_of(text: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def read(page: str) -> str:
    """What a reader sees of HTML, on one line."""
    body = page.split("<h1>", 1)[1].split("</main>")[0].split("</body>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def joined(text: str) -> str:
    """Without the spaces that tags leave and the signs of isolation."""
    return re.sub(r"[\s\u2068\u2069]", "", text)


def rendered(markdown: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(markdown)


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("record", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("kind", RECIPES)
def test_record_says_what_the_trust_model_means(client: Client, kind: str, settings: Any) -> None:
    made, expected = RECIPES[kind]
    recipe = made()
    markdown = record_markdown(record_of(recipe))
    page = client.get(reverse("recipe-record", args=[recipe.identifier])).content.decode()
    shown = read(page)
    for part in expected:
        assert joined(part) in joined(shown)
    # The page, the file and Markdown are one text.
    assert joined(read(rendered(markdown))) == joined(shown)
    assert joined(read(command(str(recipe.identifier), "--format", "html"))) == joined(shown)
    assert command(str(recipe.identifier)[:12]) == markdown
    # Tokens add two parties, a relay and a target as many.
    assert words_of(markdown) <= (1_050 if kind in {"target", "joint key"} else 1_000)
    assert FILL_IN in markdown
    for nothing in ("None", "{{", "{duration", "()", "..", "some days", "x-wing", "operators are asked"):
        assert nothing not in shown
    for absent in {"With two servers", "Servers see", "Directly to the servers"} - set(expected):
        assert absent not in shown
    for section in ("Who learns what", "Guarantees"):
        assert f"## {section} (security measures, Article 30(1)(g))" in markdown


@pytest.mark.parametrize("relay", [False, True])
def test_x_wing_that_seals_requests_for_tokens_alone_protects_no_report(relay: bool) -> None:
    values: dict[str, Any] = {"statistic": "categories", "steps": None, "k": 3}
    text = record_markdown(record_of(token_recipe(FakeIssuer(), hpke="x-wing", relay=relay, **values)))
    assert ("X-Wing, made to withstand later quantum computers" in text) is relay
    assert ("Quantum computers may open recorded reports." in text) is not relay


def test_given_texts_are_shown_as_they_are_given(client: Client) -> None:
    recipe = open_recipe(name=HOSTILE[:100], question=HOSTILE, event="crash", event_definition=HOSTILE)
    markdown = record_markdown(record_of(recipe))
    drawn = rendered(markdown)
    for page in (client.get(reverse("recipe-record", args=[recipe.identifier])).content.decode(), drawn):
        assert not re.search(r"<script>alert|<code>x|<strong>b|<a [^>]*(?:javascript|evil)|<em>", page)
    assert joined(HOSTILE) in joined(read(drawn))
    # GitHub makes links of addresses, but for those in code and with escaped marks.
    assert not re.search(r"[^\\]://|[^\\]@|www\.", re.sub(r"`[^`\n]+`", "", markdown.replace("\\`", "")))
    # As many cells as the header has, whatever is in them.
    table = drawn.split("<table>")[1].split("</table>")[0]
    assert table.count("<td>") + table.count("<th>") == 2 * table.count("<tr>")
    assert f"\u2068{markdown.splitlines()[0].split(chr(0x2068))[1]}" in markdown
    assert f"<bdi>{html.escape(HOSTILE)}</bdi>" in command(str(recipe.identifier), "--format", "html")


def test_commands_of_the_page_run() -> None:
    recipe = open_recipe()
    page = Path(__file__).resolve().parents[4] / "docs/data-protection.md"
    commands = re.findall(r"manage\.py record IDENTIFIER ([^>\n]+)", page.read_text())
    markdown, drawn = (command(str(recipe.identifier), *each.split()) for each in commands)
    assert markdown == record_markdown(record_of(recipe))
    assert drawn.startswith("<!doctype html>")


def test_long_lists_are_shortened_and_say_so() -> None:
    labels = [f"value {each}" for each in range(MOST_LINES + 5)]
    recipe = open_recipe(statistic="categories", steps=None, k=len(labels), labels=labels)
    assert "value 9; and 5 more in the recipe" in record_markdown(record_of(recipe))


def test_withheld_result_is_stated_with_its_reason() -> None:
    recipe = recipe_close(recipe=open_recipe([1]), actor=None)
    result_withhold(recipe=recipe, reason="the | helper is gone", actor=None)
    text = record_markdown(record_of(Recipe.objects.get(pk=recipe.pk)))
    assert "| State | Withheld, " in text
    assert "| Reports in the result, as published | unknown |" in text
    assert "| Why nothing was released | the \\| helper is gone |" in text


def test_released_result_has_its_published_number_of_reports() -> None:
    text = record_markdown(record_of(finished_recipe([[0]] * 7)))
    assert "| Reports in the result, as published | 7 |" in text


def test_rounds_are_stated_with_what_all_of_them_guarantee() -> None:
    population_create(name="pilots", description="", budget=Budget(epsilon=2.0, delta=1e-4), actor=None)
    members = recipe_members(steps=1, step_seconds=1, cohort_size=20, sampling_rate=0.2, population="pilots")
    series_publish(
        members=members | {"rounds": 3, "round_seconds": 3_600, "epsilon": 0.1, "name": "Mo|del"}, actor=None
    )
    rounds_advance()
    text = record_markdown(record_of(Recipe.objects.get()))
    assert "| Round | Number 1 of “Mo\\|del” |" in text
    assert "The table is of this round alone, but for the rows of all rounds." in text
    stated = RoundsDocument.objects.get().stated["privacy"]
    result = next(each["epsilon"] for each in stated if each["model"] == "sampled")
    row = next(line for line in text.splitlines() if epsilon_text(result) in line)
    assert row.startswith(f"| All 3 rounds together: privacy loss ε = {epsilon_text(result)}, ")
    assert row.endswith("For anyone but this server. |")
    assert "privacy loss ε = 2, δ = 0.0001" in text


def weekly(**fields: Any) -> Recipe:
    """The first of 8 rounds by the clock."""
    members = recipe_members(steps=1, opens_at=None, closes_at=None, **fields)
    series_publish(members=members | {"every": "week", "rounds": 8}, actor=None)
    rounds_advance()
    return Recipe.objects.get()


def test_round_by_the_clock_has_what_all_rounds_are_charged() -> None:
    recipe = weekly()
    population = Population.objects.get(name="everyone")
    spent = balance_of(population).spent
    alone = spent_by([str(recipe.identifier)])[str(recipe.identifier)].epsilon
    assert spent is not None
    assert alone is not None
    assert alone < spent <= 8 * alone
    text = record_markdown(record_of(recipe))
    bound = f"privacy loss ε ≤ {epsilon_text(spent)}, failure probability δ = 1e-6, replacement"
    assert (
        f"| All 8 rounds together: {bound} | For someone who reads every combined result and nothing else"
        in text
    )
    assert "Someone who reads one device's decrypted report: unknown." in text
    # Rounds that were given up cost nothing.
    series_stop(series=Series.objects.get(), actor=None)
    assert f"rounds together: privacy loss ε ≤ {epsilon_text(alone)}, " in record_markdown(record_of(recipe))


def test_no_request_computes_what_all_rounds_cost(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    address = reverse("recipe-record", args=[weekly().identifier])
    sent = workers_answer(monkeypatch)
    late = "All 8 rounds together: privacy loss (ε) not computed yet"
    assert late in read(client.get(address).content.decode())
    work(sent)
    assert "All 8 rounds together: privacy loss ε ≤ " in read(client.get(address).content.decode())


def test_each_statistic_has_its_categories_of_personal_data() -> None:
    said = {name: kind_of(statistic).collected_by(name) for name, statistic in STATISTICS.items()}
    assert all(said.values())
    assert said["count_nonzero"] != said["histogram"] != said["funnel"]


def test_address_of_the_site_is_printed_where_it_is_known(settings: Any) -> None:
    recipe = open_recipe()
    text = record_markdown(record_of(recipe))
    assert "| This site | not in the recipe | " in text
    settings.SITE_URL = "http://127.0.0.1:9100"
    text = record_markdown(record_of(recipe))
    assert "| This site | `http://127.0.0.1:9100`, not in the recipe | Receives and decrypts" in text
    verify = reverse("recipe-verify", args=[recipe.identifier])
    assert f"| How to check | `http://127.0.0.1:9100{verify}` |" in text


@pytest.mark.parametrize(
    ("given", "markdown"),
    [
        (Copied("http://127.0.0.1:9100/a_b"), "`http://127.0.0.1:9100/a_b`"),
        (Copied("a`b"), r"a\`b"),
        (Copied(r"a\|b"), r"a\\\|b"),
        (Copied("<b>"), "&lt;b&gt;"),
        (Copied("אב"), "\u2068`אב`\u2069"),
        (Given("Version 2.0: new"), "Version 2.0: new"),
        (Given("www.1evil.example"), r"www\.1evil\.example"),
        (Given("http://www.evil.example"), r"http\://www\.evil\.example"),
    ],
)
def test_names_and_addresses_are_code_if_nothing_can_end_it(given: Given, markdown: str) -> None:
    record = Record(title=given, paragraphs=(), sections=())
    assert record_markdown(record) == f"# {markdown}\n"
    shown = html.unescape(re.sub(r"<[^>]+>", "", rendered(markdown)))
    assert joined(shown) == joined(given)


def test_cells_to_fill_in_are_marked_on_page_and_file(client: Client) -> None:
    recipe = open_recipe()
    page = client.get(reverse("recipe-record", args=[recipe.identifier])).content.decode()
    for drawn in (page, command(str(recipe.identifier), "--format", "html")):
        marked = drawn.split('to-fill"')[-1].split("</table>")[0]
        assert ">Entry</th>" in marked
        assert marked.count("<td></td>") == marked.count("<td>") - 1


def test_record_is_linked_from_the_privacy_of_its_recipe(client: Client) -> None:
    recipe = open_recipe()
    address = reverse("recipe-record", args=[recipe.identifier])
    page = client.get(reverse("recipe-privacy", args=[recipe.identifier])).content.decode()
    assert f'href="{address}"' in page


def test_private_simulation_has_a_record_for_analysts_only(client: Client) -> None:
    recipe = recipe_publish_file(members=recipe_members(), actor=None, simulation=True, private=True)
    address = reverse("recipe-record", args=[recipe.identifier])
    assert client.get(address).status_code == 404
    client.force_login(analyst())
    page = read(client.get(address).content.decode())
    assert "This simulation and its result until an analyst deletes it" in page
    assert "It is not in the public log." in page
    assert page == read(command(str(recipe.identifier), "--format", "html"))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("", "recipe: must be 1 to 64 hexadecimal digits in lower case"),
        ("%", "recipe: must be 1 to 64 hexadecimal digits in lower case"),
        ("A" * 64, "recipe: must be 1 to 64 hexadecimal digits in lower case"),
        ("0" * 65, "recipe: must be 1 to 64 hexadecimal digits in lower case"),
        ("0" * 64, "recipe: no published recipe has this identifier"),
    ],
)
def test_unknown_recipe_is_refused_by_the_command(asked: str, said: str) -> None:
    with pytest.raises(CommandError, match=re.escape(said)) as refusal:
        command(asked)
    assert refusal.value.returncode == 2


def test_beginning_of_several_recipes_is_refused() -> None:
    seen = dict[str, Recipe]()
    while (recipe := open_recipe()).identifier[0] not in seen:  # after 17 recipes at the latest
        seen[recipe.identifier[0]] = recipe
    with pytest.raises(CommandError, match="several recipes begin with it; give more digits"):
        command(recipe.identifier[0])


def test_unreadable_recipe_is_refused_everywhere(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = open_recipe()
    make_unreadable(monkeypatch)
    with pytest.raises(CommandError, match=r"cannot be read: closes_at: is of another version") as refusal:
        command(str(recipe.identifier))
    assert refusal.value.returncode == 2
    answer = client.get(reverse("recipe-record", args=[recipe.identifier]))
    assert answer.status_code == 404
    assert "This recipe cannot be read" in answer.content.decode()
