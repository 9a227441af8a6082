from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from api_tokens.models import ApiToken
from tests.scenes import PASSWORD, analyst

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_token_is_made_shown_once_and_revoked_on_a_page_of_ones_own(
    visit: Callable[..., Visitor], scheme: str
) -> None:
    analyst()
    visitor = visit(color_scheme=scheme, viewport={"width": 400, "height": 900})
    visitor.sign_in("ana", PASSWORD)
    page = visitor.page
    page.locator("summary", has_text="Account").click()
    page.get_by_role("link", name="API tokens").click()
    expect(page.get_by_text("You have no tokens.")).to_be_visible()
    page.get_by_label("Name").fill("nightly report")
    page.get_by_label("recipes:read").check()
    page.get_by_label("Your password").fill(PASSWORD)
    assert violations(visitor) == []
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator("#token-text")).to_be_visible()
    expect(page.locator("#token-text")).to_contain_text(f"panapp_{ApiToken.objects.get().prefix}_")
    assert violations(visitor) == []
    account = page.get_by_role("navigation", name="Your account")
    account.get_by_role("link", name="Password").click()
    account.get_by_role("link", name="API tokens").click()
    expect(page.locator("#token-text")).to_have_count(0)
    page.get_by_role("button", name="Revoke nightly report").click()
    expect(page.get_by_text("Ended: it was revoked.")).to_be_visible()
    assert violations(visitor) == []
