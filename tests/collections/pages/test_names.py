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
TITLE = re.compile(
    r"(?s)\{% block title %\}(?:\{% block tab_title %\}\{% endblock %\})?.*?\{% endblock %\}"
    r"|<title>.*?</title>"
)
PLAIN = re.compile(
    # Titles and options are plain text for browsers. Attributes have no elements; nor have lines to copy.
    TITLE.pattern + r"|<option.*?</option>|<pre.*?</pre>|<bdi>.*?</bdi>"
)
TAG = re.compile(r"(?s)<[a-z!/](?:\{%.*?%\}|\{\{.*?\}\}|[^>])*>")


def loose_names(template: str) -> list[str]:
    """Names that are not in a `bdi`."""
    return GIVEN.findall(TAG.sub("", PLAIN.sub("", template)))


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.name)
def test_names_given_by_users_are_isolated(path: Path) -> None:
    template = path.read_text()
    assert loose_names(template) == []
    assert "<bdi>" not in "".join(TITLE.findall(template)), "a title is plain text"


def test_pages_name_no_file_of_the_docs() -> None:
    """Readers of an installation have none: what a page refers to is a link."""
    named = {path.name for path in TEMPLATES.rglob("*.html") if "docs/" in path.read_text()}
    assert named == set()


def test_loose_name_is_found_beside_those_that_need_no_isolation() -> None:
    page = '<title>{{ recipe.name }}</title><a title="{{ recipe.name }}"><bdi>{{ recipe.name }}</bdi></a>'
    assert loose_names(page) == []
    assert loose_names(page + "<p>{{ recipe.name }}</p>") == ["{{ recipe.name }}"]
