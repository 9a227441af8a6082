import html
import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pages.charts.plotly import plotly_figure
from pages.papers.figures import DASHES, ROLES, SYMBOLS, described, value_text
from research.statements import Basis, Role
from research.theory import DEMONSTRATIONS, results
from tests.page_text import page_text

pytestmark = pytest.mark.django_db

CHARTS = [
    chart for demonstration in results.committed()["demonstrations"] for chart in demonstration["charts"]
]


def page_of(client: Client) -> str:
    response = client.get(reverse("theory"))
    assert response.status_code == 200
    return page_text(response)


def test_page_is_public_and_linked_from_every_page_and_from_the_papers(client: Client) -> None:
    assert page_of(client)
    link = f'href="{reverse("theory")}"'
    assert link in page_text(client.get("/"))
    assert page_text(client.get(reverse("papers"))).count(link) == 2


def test_page_computes_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("computed in a request")

    for name in DEMONSTRATIONS:
        monkeypatch.setitem(DEMONSTRATIONS, name, refuse)
    monkeypatch.setattr(results, "compute", refuse)
    page_of(client)


def test_page_says_of_every_demonstration_what_is_seen_measured_and_proved_and_where(client: Client) -> None:
    page = page_of(client)
    for demonstration in results.committed()["demonstrations"]:
        for words in ("title", "sentence", "measured", "proved", "source"):
            assert demonstration[words] in page
        assert f'<h2 id="{demonstration["key"]}">' in page
    assert page.count(f"simulation, seed {results.SEED}") == len(DEMONSTRATIONS)


def test_page_carries_every_chart_as_data_caption_and_table(client: Client) -> None:
    page = page_of(client)
    for chart in CHARTS:
        (data,) = re.findall(rf'id="{chart["key"]}-chart" data-plot="(.*?)"', page)
        assert [trace["y"] for trace in json.loads(html.unescape(data))["data"]] == [
            curve["y"] for curve in chart["curves"]
        ]
        assert chart["caption"] in page
        table = page.split(f"<summary>The numbers: {chart['title']}</summary>")[1].split("</table>")[0]
        table = " ".join(table.split())
        assert table.count('<th scope="row">') == len(chart["x"])
        for curve in chart["curves"]:
            assert f'{curve["name"]}<br><span class="small">{curve["standing"]}</span>' in table
            assert all(f"<td>{value_text(y, curve['standing'])}</td>" in table for y in curve["y"])


def test_page_shows_the_bits_that_were_encrypted_and_decrypted(client: Client) -> None:
    page = page_of(client)
    assert page.count("<td>01001000 01101001 00100001</td>") == 2


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart["key"])
def test_lines_of_a_chart_differ_without_colours_and_have_none_of_their_own(chart: dict[str, Any]) -> None:
    drawn = plotly_figure(described(chart))
    assert len(drawn["data"]) == len(chart["curves"]) <= len(ROLES)
    assert len({trace["meta"] for trace in drawn["data"]}) == len(drawn["data"])
    looks = [
        (trace.get("line", {}).get("dash"), trace.get("marker", {}).get("symbol")) for trace in drawn["data"]
    ]
    of_one = [look for trace, look in zip(drawn["data"], looks, strict=True) if trace["mode"] != "lines"]
    assert len(set(of_one)) == len(of_one)
    assert len({trace["name"] for trace in drawn["data"]}) == len(drawn["data"])
    assert "color" not in json.dumps(drawn)
    for axis, letter in (("xaxis", "x"), ("yaxis", "y")):
        assert (drawn["layout"][axis].get("type") == "log") == chart[f"logarithmic_{letter}"]


@pytest.mark.parametrize(
    ("styles", "kinds"),
    [
        # What was measured on collections is drawn as points.
        (DASHES, [role for role in Role if role is not Role.MEASURED]),
        (DASHES, Basis),
        (SYMBOLS, Role),
        (SYMBOLS, ROLES),
    ],
)
def test_lines_of_a_chart_have_a_dash_or_symbol_each(styles: dict[str, str], kinds: Iterable[str]) -> None:
    assert len({styles[kind] for kind in kinds}) == len(list(kinds))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        ("yes", "yes"),
        (4290, "4,290"),
        (6141.2, "6,140"),
        (0.5, "0.500"),
        (0.0, "0"),
        (2.342e-14, "2.34 × 10⁻¹⁴"),
    ],
)
def test_value_is_written_for_people(value: Any, text: str) -> None:
    assert value_text(value, "measured") == text


def test_bound_is_not_rounded_to_more_than_was_shown(client: Client) -> None:
    assert value_text(499.5, "bound") == "499.5"
    assert value_text(20.7684, "bound") == "20.7684"
    page = page_of(client)
    assert "<td>499.5</td>" in page
    assert "<td>500</td>" not in page


def test_what_is_measured_and_computed_is_points_on_a_line() -> None:
    (chart,) = [chart for chart in CHARTS if chart["key"] == "two-intrusions-advantage"]
    modes = {(trace["name"], trace["mode"]) for trace in plotly_figure(described(chart))["data"]}
    assert modes == {
        ("looks by surprise (measured)", "markers"),
        ("looks by surprise (computed)", "lines"),
        ("announced looks (measured)", "markers"),
        ("announced looks (computed)", "lines"),
        ("any single look, ε = 0.5 (bound)", "lines+markers"),
    }
