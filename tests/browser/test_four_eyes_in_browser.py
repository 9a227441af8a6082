from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from recipes.operations import recipe_draft_save
from tests.factories import recipe_members
from tests.scenes import PASSWORD, account

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"java_script_enabled": False}])
def test_a_draft_is_approved_by_another_analyst_and_published(
    visit: Callable[..., Visitor], settings: Any, options: dict[str, Any]
) -> None:
    settings.FOUR_EYES = True
    author, _ = account("ana", "Analysts"), account("otto", "Analysts")
    draft = recipe_draft_save(members=recipe_members(cohort_size=1_000), actor=author)
    mine, others = (visit(**{"viewport": {"width": 400, "height": 900}, **options}) for _ in range(2))
    for visitor, name in ((mine, "ana"), (others, "otto")):
        visitor.sign_in(name, PASSWORD)
    page = mine.open(f"/recipes/drafts/{draft.pk}/")
    expect(page.get_by_text("It needs the approval of another analyst.")).to_be_visible()
    expect(page.get_by_role("button", name="Publish for good")).to_be_disabled()
    assert violations(mine) == []
    page.get_by_role("button", name="Ask for approval").click()
    expect(page.get_by_text("Nobody has decided yet.")).to_be_visible()
    theirs = others.open("/")
    expect(theirs.get_by_text("Waits for your approval. ana asked.")).to_be_visible()
    theirs.get_by_role("region", name="For you to look at").get_by_role("link").first.click()
    expect(theirs.get_by_role("button", name="Approve")).to_be_visible()
    assert violations(others) == []
    theirs.get_by_role("button", name="Approve").click()
    expect(theirs.get_by_text("otto approved it")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_text("approved by another account")).to_be_visible()
