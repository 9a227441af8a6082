"""From an empty installation to the version that is up, as docs/crash-rate.md walks through it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.accessibility import violations
from tests.browser.conftest import Visitor
from tests.browser.screenshots import walk
from tests.processes import services_on_test_database
from tests.scenes import PASSWORD, account

DOCS = Path(__file__).parent.parent.parent / "docs" / "crash-rate.md"

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.processes]

Visit = Callable[..., Visitor]


def test_walk_of_the_docs_ends_with_the_version_that_is_up(visit: Visit) -> None:
    account("ana", is_superuser=True)
    visitor = visit()
    with services_on_test_database() as services:
        visitor.address = services.base_url
        shown = []
        for name in walk(visitor.page, services.base_url, "ana", PASSWORD):
            shown.append(f"(crash-rate/{name}.png)")
            assert violations(visitor) == []
    assert [picture for picture in shown if picture not in DOCS.read_text()] == []
