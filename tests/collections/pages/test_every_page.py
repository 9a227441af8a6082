"""Every page that there is, drawn once: on PostgreSQL, as the tests of single pages run on SQLite alone."""

from typing import Any

import pytest
from django.test import Client

from tests.browser.every_page import pages, scene
from tests.scenes import account


@pytest.mark.long
@pytest.mark.django_db
def test_every_page_is_drawn_from_either_database(client: Client, settings: Any) -> None:
    settings.SITE_URL, settings.EMAIL_FROM = "http://localhost", "telemetry@telemetry.example"
    settings.TRY = True
    user = account("ada", "Analysts", is_staff=True, is_superuser=True)
    client.force_login(user)
    assert len(pages(client, scene(user))) > 70
