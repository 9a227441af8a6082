"""Names given by users, in any direction of writing, keep what stands beside them in its place."""

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
GIVEN = re.compile(
    r"\{\{ (?:[a-z_]+\.)*(?:question|get_username|(?:recipe|series|population|token|batch|dashboard)\.name"
    r"|(?:draft|published|result\.recipe)\.population|row\.segment|mark\.note|approval\.note|origin\.title"
    r"|population\.description)(?:\|[a-z]+)? \}\}"
)
PLAIN = re.compile(
    # Titles and options are plain text for browsers. Attributes have no elements; nor have lines to copy.
    r"(?s)\{% block (?:tab_)?title %\}.*?\{% endblock %\}\s|<title>.*?</title>|<option.*?</option>"
    r"|<pre.*?</pre>|<bdi>.*?</bdi>"
)
TAG = re.compile(r"(?s)<[a-z!/](?:\{%.*?%\}|\{\{.*?\}\}|[^>])*>")


def loose_names(template: str) -> list[str]:
    """Names that are not in a `bdi`."""
    return GIVEN.findall(TAG.sub("", PLAIN.sub("", template)))


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.name)
def test_names_given_by_users_are_isolated(path: Path) -> None:
    assert loose_names(path.read_text()) == []


def test_loose_name_is_found_beside_those_that_need_no_isolation() -> None:
    page = '<title>{{ recipe.name }}</title><a title="{{ recipe.name }}"><bdi>{{ recipe.name }}</bdi></a>'
    assert loose_names(page) == []
    assert loose_names(page + "<p>{{ recipe.name }}</p>") == ["{{ recipe.name }}"]
