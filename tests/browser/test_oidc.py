"""Signing in at a certified OpenID provider (panva's, in Node), in Chromium, by the example of the docs."""

import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.cache import cache
from playwright.sync_api import Browser, Page, expect

from accounts.api_tokens.models import ApiToken
from accounts.second_factor.operations import begun_secret
from log.audit.models import Entry
from tests.browser.accessibility import violations
from tests.browser.conftest import Visitor
from tests.collections.accounts.oidc.scene import ANSWER, CLIENT_SECRET
from tests.collections.accounts.second_factor.scene import code_of
from tests.panapp.scene import ROOT, complete, load
from tests.peers.conversations import Peer
from tests.peers.node_packages import running

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EXAMPLE = (ROOT / "docs" / "operations" / "sign-in.md").read_text()

SIGN_IN, CONFIRM = "Sign in with your organization’s account", "Confirm with your organization’s account"


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running("node_oidc", tmp_path_factory.mktemp("peer")) as peer:
        yield peer


class Organization:
    """The provider, and this site as its client: both as the docs have it, but for their addresses."""

    def __init__(self, peer: Peer, address: str) -> None:
        values = dict(re.findall(r"^(PANAPP_OIDC_[A-Z_]+)='(.*)'$", EXAMPLE, re.MULTILINE))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        values |= {"PANAPP_OIDC_CLIENT_SECRET": CLIENT_SECRET.replace(" ", "")}
        assert load({**complete("all-in-one"), **values}).OIDC.roles
        local = {"PANAPP_OIDC_ISSUER": f"http://127.0.0.1:{self.port}", "PANAPP_MODE": "local"}
        self.settings = load({"PATH": "", **values, **local}).OIDC
        self._peer, self._redirect = peer, f"{address}{ANSWER}"
        self.start("RS256", "1")

    def start(self, algorithm: str, key: str) -> None:
        self._peer(
            "start",
            port=self.port,
            algorithm=algorithm,
            client=self.settings.client_id,
            secret=self.settings.client_secret,
            redirect=self._redirect,
            kid=key,
        )

    def group(self, account: str, *names: str) -> None:
        self._peer("group", account=account, names=names)


@pytest.fixture
def organization(peer: Peer, live_server: Any, settings: LazySettings) -> Iterator[Organization]:
    cache.clear()
    found = Organization(peer, live_server.url)
    settings.OIDC = found.settings
    yield found
    peer("stop")


@pytest.fixture
def visitor(browser: Browser, live_server: Any, organization: Organization) -> Iterator[Visitor]:
    """One whose browser complains of nothing on our pages, the refusals that a test expects excepted."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    visitor = Visitor(context, live_server.url)
    yield visitor
    context.close()
    ours = [said for said in visitor.complaints if said.startswith(live_server.url)]
    assert [said for said in ours if "asked for http://127.0.0.1" not in said and " 403 " not in said] == []


def at_provider(page: Page, name: str) -> None:
    """Its own pages: a name with any password, then consent if it asks for that."""
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.wait_for_load_state()
    if page.url.startswith("http://127.0.0.1"):
        page.get_by_role("button", name="Continue").click()


def test_analyst_signs_in_makes_a_token_and_loses_the_role(
    organization: Organization, visitor: Visitor
) -> None:
    organization.group("ida", "telemetry-analysts", "staff")
    page = visitor.open("/sign-in/?next=/recipes/new/")
    assert violations(visitor) == []
    page.get_by_role("link", name=SIGN_IN).click()
    at_provider(page, "ida")
    page.wait_for_url(f"{visitor.address}/recipes/new/")
    user = User.objects.get(username="ida")
    assert [group.name for group in user.groups.all()] == ["Analysts"]
    assert not user.has_usable_password()

    # A token needs a proof that is younger than the sign-in: the provider asks once more.
    visitor.open("/tokens/")
    assert violations(visitor) == []
    page.get_by_role("link", name=CONFIRM).click()
    at_provider(page, "ida")
    page.wait_for_url(f"{visitor.address}/tokens/")
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Make the token").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    assert ApiToken.objects.get().user == user

    # The session there outlives ours: the button is enough. The provider has another key meanwhile.
    page.get_by_role("button", name="Sign out", exact=True).click()
    organization.start("RS256", "2")
    organization.group("ida", "staff")
    visitor.open("/sign-in/").get_by_role("link", name=SIGN_IN).click()
    at_provider(page, "ida")
    expect(page.get_by_role("heading", name="You are not signed in")).to_be_visible()
    assert violations(visitor) == []
    expect(page.get_by_text("None of your groups has a role here.")).to_be_visible()
    assert not user.groups.exists()
    reasons = Entry.objects.filter(action="sign_in_failed").values_list("details__reason", flat=True)
    assert list(reasons) == ["no role"]


def test_administrator_signs_in_by_es256_after_a_change_of_keys(
    organization: Organization, visitor: Visitor
) -> None:
    organization.start("ES256", "2")
    organization.group("root", "telemetry-admins")
    page = visitor.open("/admin/")
    page.get_by_role("link", name=SIGN_IN).click()
    at_provider(page, "root")
    page.wait_for_url(f"{visitor.address}/admin/")
    assert User.objects.get(username="root").is_superuser


def test_administrator_sets_up_the_factor_that_the_provider_does_not_state(
    organization: Organization, visitor: Visitor, settings: LazySettings
) -> None:
    settings.SECOND_FACTOR = "administrators"
    organization.group("root", "telemetry-admins")
    page = visitor.open("/admin/")
    page.get_by_role("link", name=SIGN_IN).click()
    at_provider(page, "root")
    expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    assert violations(visitor) == []
    secret = begun_secret(User.objects.get(username="root"))
    assert secret is not None
    page.get_by_role("textbox", name="Code").fill(code_of(secret, time.time()))
    page.get_by_role("button", name="Set it up and sign in").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    assert visitor.open("/admin/").url == f"{visitor.address}/admin/"


def test_person_who_cancels_at_the_provider_is_not_signed_in(
    organization: Organization, visitor: Visitor
) -> None:
    page = visitor.open("/sign-in/")
    page.get_by_role("link", name=SIGN_IN).click()
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_text("127.0.0.1 did not sign you in.")).to_be_visible()
    assert not User.objects.exists()


def test_local_administrator_signs_in_while_the_provider_is_down(
    organization: Organization, peer: Peer, visitor: Visitor
) -> None:
    User.objects.create_superuser("local", password="correct horse battery staple")
    peer("stop")
    visitor.sign_in_by_form("local", "correct horse battery staple")
