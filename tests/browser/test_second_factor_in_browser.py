import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from second_factor.codes import STEP_SECONDS
from second_factor.operations import begun_secret
from tests.collections.second_factor.app import code_of
from tests.scenes import PASSWORD, analyst

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"java_script_enabled": False}])
def test_a_second_factor_is_set_up_and_asked_for(
    visit: Callable[..., Visitor], options: dict[str, Any]
) -> None:
    ana = analyst()
    visitor = visit(**{"viewport": {"width": 400, "height": 900}, **options})
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open("/second-factor/")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Set one up").click()
    expect(page.get_by_role("img", name="QR code of the secret below")).to_be_visible()
    assert violations(visitor) == []
    secret = begun_secret(ana)
    assert secret is not None
    page.get_by_label("Code", exact=True).fill(code_of(secret, time.time()))
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    assert violations(visitor) == []
    page.get_by_role("link", name="Go on").click()
    expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()
    assert violations(visitor) == []
    page.get_by_role("button", name="Sign out").click()
    page = visitor.open("/sign-in/")
    page.get_by_label("Username").fill("ana")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Code", exact=True)).to_be_visible()
    assert violations(visitor) == []
    # Of the next step, as no code is taken twice. It is still taken where that step has begun meanwhile.
    page.get_by_label("Code", exact=True).fill(code_of(secret, time.time() + STEP_SECONDS))
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(
        page.get_by_text("For you to look at").or_(page.get_by_text("What is being asked"))
    ).to_be_visible()
