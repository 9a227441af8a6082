"""Publishing with the web form while a real helper runs, and while it does not."""

import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from panapp.services import Services
from panprivacy.trust import Trust
from recipes.models import Recipe
from recipes.selectors import helper_signature_of
from tests.factories import draft_recipe
from tests.processes import helper_rows, services_on_test_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.long]


def post_as_administrator(services: Services, path: str) -> str:
    """Send the form of `path` to the web process; the page that comes of it."""
    client = Client()
    client.force_login(User.objects.create_superuser("somebody"))
    session, token = client.cookies[settings.SESSION_COOKIE_NAME].value, "t" * 32
    request = urllib.request.Request(  # noqa: S310  # http to ourselves
        services.base_url + path,
        data=urllib.parse.urlencode({"csrfmiddlewaretoken": token}).encode(),
        headers={
            "Cookie": f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={token}",
            "Referer": services.base_url + path,
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_publishing_a_two_server_draft_with_the_form_registers_it_with_the_helper(tmp_path: Path) -> None:
    draft = draft_recipe(trust="two_server")
    with services_on_test_database(helper=tmp_path) as services:
        pairing = services.pairings[Trust.TWO_SERVER]
        post_as_administrator(services, f"/recipes/drafts/{draft.pk}/publish/")
        recipe = Recipe.objects.get(pk=draft.pk)
        assert recipe.status == Recipe.Status.PUBLISHED
        assert recipe.published.servers.leader_url == f"{services.base_url}/leader"
        assert recipe.published.servers.helper_url == pairing.url
    assert helper_signature_of(recipe) is not None
    rows = helper_rows(tmp_path, "SELECT hex(task_id), state FROM dap_task")
    assert rows == [(str(recipe.identifier).upper(), "open")]


def test_publishing_a_two_server_draft_without_a_helper_leaves_the_draft_and_says_why() -> None:
    draft = draft_recipe(trust="two_server")
    with services_on_test_database() as services:
        page = post_as_administrator(services, f"/recipes/drafts/{draft.pk}/publish/")
    assert Recipe.objects.get(pk=draft.pk).status == Recipe.Status.DRAFT
    assert "no helper is set up for this installation" in page
