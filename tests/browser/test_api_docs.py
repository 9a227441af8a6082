from collections.abc import Callable

import pytest
import yaml
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import expect

from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_api_documentation_shows_every_operation_under_our_own_policy(visit: Callable[..., Visitor]) -> None:
    # That nothing was blocked, and nothing asked for elsewhere, is what `visit` checks at the end.
    visitor = visit()
    answer = visitor.page.goto(f"{visitor.address}{reverse('api-docs')}")
    assert answer is not None
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    paths = yaml.safe_load((settings.BASE_DIR / "docs" / "openapi.yaml").read_text())["paths"]
    expect(visitor.page.locator(".opblock")).to_have_count(sum(map(len, paths.values())))
    visitor.page.get_by_text("Submit one report").click()
    expect(visitor.page.locator(".opblock-body")).to_contain_text("nonce")
    expect(visitor.page.locator(".opblock-summary-description:empty")).to_have_count(0)
    visitor.page.get_by_role("navigation", name="Main").get_by_role("link", name="Recipes").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Private telemetry")
