import html
import json
import re
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pages.charts.plotly import plotly_figure
from pages.charts.ticks import power_of_ten
from pages.papers.figures import described
from pages.papers.papers import claim_row, paper_sections
from research.reproduction import results
from tests.page_text import page_text

pytestmark = pytest.mark.django_db


def page_of(client: Client) -> str:
    response = client.get(reverse("papers"))
    assert response.status_code == 200
    return page_text(response)


def test_page_is_public_and_linked_from_every_page(client: Client) -> None:
    assert page_of(client)
    assert f'href="{reverse("papers")}"' in page_text(client.get("/"))


def test_page_computes_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("computed in a request")

    monkeypatch.setattr(results, "compute", refuse)
    monkeypatch.setattr("panprivacy.accounting.interface.PrivacyEvent.epsilon", refuse)
    page_of(client)


def test_page_shows_each_claim_with_verdict_and_reason(client: Client) -> None:
    page = page_of(client)
    for words in ("0.60526", "0.89391", "1.0204", "0.4738", "replacement, δ = 10⁻¹⁰", "add/remove"):
        assert words in page
    document = results.committed()
    verdicts = [claim["agrees"] for claim in document["claims"]]
    assert page.count('class="verdict agrees"') == verdicts.count(True)
    assert page.count('class="verdict differs"') == verdicts.count(False)
    assert page.count("not printed</td>") == sum(claim["printed"] == "" for claim in document["claims"])


def test_page_carries_every_figure_as_chart_caption_and_table(client: Client) -> None:
    page = page_of(client)
    for figure in results.committed()["figures"]:
        (data,) = re.findall(rf'id="{figure["key"]}-chart" data-plot="(.*?)"', page)
        drawn = json.loads(html.unescape(data))
        assert len(drawn["data"]) == sum(len(panel["series"]) for panel in figure["panels"])
        assert figure["choices"].split(".")[0] in page
    rows = sum(len(panel["x"]) for figure in results.committed()["figures"] for panel in figure["panels"])
    tables = page.split("<details>")[1:]
    assert sum(table.split("</details>")[0].count('<th scope="row">') for table in tables) == rows


def test_page_names_libraries_but_no_time_and_no_other_host(client: Client) -> None:
    page = page_of(client)
    for name, version in results.committed()["libraries"].items():
        assert f"{name} {version}" in page
    assert "https://" not in page


@pytest.mark.parametrize("figure", results.committed()["figures"], ids=lambda figure: figure["key"])
def test_chart_has_logarithmic_axes_and_no_colour_of_its_own(figure: dict[str, Any]) -> None:
    drawn = plotly_figure(described(figure))
    axes = {name: axis for name, axis in drawn["layout"].items() if name.startswith(("xaxis", "yaxis"))}
    assert len(axes) == 2 * len(figure["panels"])
    assert all(axis["type"] == "log" for axis in axes.values())
    assert "color" not in json.dumps(drawn)
    names = [trace["name"] for trace in drawn["data"] if trace["showlegend"]]
    assert len(names) == len(set(names)), "once each in the legend"


def test_claim_that_turns_out_otherwise_is_shown_as_it_is() -> None:
    document = deepcopy(results.committed())
    claim = document["claims"][0]
    assert claim_row(claim).verdict == "differs"
    claim["agrees"] = True
    assert claim_row(claim).verdict == "agrees"
    claim["agrees"], claim["printed"] = None, ""
    row = paper_sections(document)[0].claims[0]
    assert (row.verdict, row.printed) == ("", "not printed")


def test_powers_of_ten_are_written_with_raised_digits() -> None:
    assert [power_of_ten(exponent) for exponent in (-10, -1, 0, 1, 6)] == ["10⁻¹⁰", "10⁻¹", "1", "10", "10⁶"]
