import html
import json
import re
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pages.charts.plotly import plotly_figure
from pages.papers.figures import ROLES, described, value_text
from pages.papers.papers import claim_row, paper_sections
from research.reproduction import results as papers_results
from research.theory import DEMONSTRATIONS
from research.theory import results as theory_results
from tests.page_text import page_text

pytestmark = pytest.mark.django_db


def page_of(client: Client, name: str = "papers") -> str:
    response = client.get(reverse(name))
    assert response.status_code == 200
    return page_text(response)


@pytest.mark.parametrize("name", ["papers", "theory"])
def test_page_is_public_linked_everywhere_and_computes_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("computed in a request")

    for demonstration in DEMONSTRATIONS:
        monkeypatch.setitem(DEMONSTRATIONS, demonstration, refuse)
    for module in (papers_results, theory_results):
        monkeypatch.setattr(module, "compute", refuse)
    monkeypatch.setattr("panprivacy.accounting.interface.PrivacyEvent.epsilon", refuse)
    page = page_of(client, name)
    assert "https://" not in page
    for linking in (page, page_text(client.get("/"))):
        assert f'href="{reverse(name)}"' in linking


def test_papers_page_shows_each_claim_with_verdict_and_reason(client: Client) -> None:
    page = page_of(client)
    for words in ("0.60526", "0.89391", "1.0204", "0.4738", "replacement, δ = 10⁻¹⁰", "add/remove"):
        assert words in page
    document = papers_results.committed()
    verdicts = [claim["agrees"] for claim in document["claims"]]
    assert page.count('class="verdict agrees"') == verdicts.count(True)
    assert page.count('class="verdict differs"') == verdicts.count(False)
    assert page.count("not printed</td>") == sum(claim["printed"] == "" for claim in document["claims"])


def test_papers_page_carries_every_figure_as_chart_caption_and_table(client: Client) -> None:
    page, figures = page_of(client), papers_results.committed()["figures"]
    for figure in figures:
        (data,) = re.findall(rf'id="{figure["key"]}-chart" data-plot="(.*?)"', page)
        drawn = json.loads(html.unescape(data))
        assert len(drawn["data"]) == sum(len(panel["series"]) for panel in figure["panels"])
        assert figure["choices"].split(".")[0] in page
        axes = [axis for name, axis in drawn["layout"].items() if name.startswith(("xaxis", "yaxis"))]
        assert [axis["type"] for axis in axes] == ["log"] * 2 * len(figure["panels"])
        assert "color" not in json.dumps(drawn)
        names = [trace["name"] for trace in drawn["data"] if trace["showlegend"]]
        assert len(names) == len(set(names)), "once each in the legend"
    rows = sum(len(panel["x"]) for figure in figures for panel in figure["panels"])
    tables = page.split("<details>")[1:]
    assert sum(table.split("</details>")[0].count('<th scope="row">') for table in tables) == rows


def test_claim_that_turns_out_otherwise_is_shown_as_it_is() -> None:
    document = deepcopy(papers_results.committed())
    claim = document["claims"][0]
    assert claim_row(claim).verdict == "differs"
    claim["agrees"] = True
    assert claim_row(claim).verdict == "agrees"
    claim["agrees"], claim["printed"] = None, ""
    row = paper_sections(document)[0].claims[0]
    assert (row.verdict, row.printed) == ("", "not printed")


CHARTS = [
    chart
    for demonstration in theory_results.committed()["demonstrations"]
    for chart in demonstration["charts"]
]


def test_theory_page_says_what_is_seen_measured_and_proved(client: Client) -> None:
    page = page_of(client, "theory")
    for demonstration in theory_results.committed()["demonstrations"]:
        for words in ("title", "sentence", "measured", "proved", "source"):
            assert demonstration[words] in page
        assert f'<h2 id="{demonstration["key"]}">' in page
    assert page.count(f"simulation, seed {theory_results.SEED}") == len(DEMONSTRATIONS)
    # A bound is not rounded to more than was shown.
    assert [value_text(bound, "bound") for bound in (499.5, 20.7684)] == ["499.5", "20.7684"]
    assert "<td>499.5</td>" in page
    assert "<td>500</td>" not in page


def test_theory_page_carries_every_chart_as_data_caption_and_table(client: Client) -> None:
    page = page_of(client, "theory")
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


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart["key"])
def test_lines_of_a_chart_differ_without_colours(chart: dict[str, Any]) -> None:
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
