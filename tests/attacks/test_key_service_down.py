"""Erasable keys out of reach are no fault of the site, and no reason to call anything erased.

Required: what needs them answers 503 with `Retry-After` and changes nothing, `/health/ready` names them, and
afterwards everything opens.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from structlog.testing import capture_logs

from dap.hpke_keys import HPKE_KEYS
from dap.models import HpkeKey
from recipes.models import Recipe
from recipes.operations import recipe_private_key
from storage.erasable_keys import old_keys_erase
from storage.key_service import KeyServiceError
from storage.models import ErasableKey
from tests.collections.pages.scene import publish
from tests.factories import draft_recipe, published_recipe
from tests.panapp.test_roles import helper_settings
from tests.scenes import analyst

__all__ = ["helper_settings"]

pytestmark = pytest.mark.django_db
Silenced = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def silenced(settings: Any, tmp_path: Path) -> Silenced:
    """Keys that no call reaches in a block."""
    keys = settings.ERASABLE_KEYS_DIR = tmp_path / "keys"
    keys.mkdir()

    @contextmanager
    def silence() -> Iterator[None]:
        keys.rename(tmp_path / "away")
        keys.touch()
        yield
        keys.unlink()
        (tmp_path / "away").rename(keys)

    return silence


@pytest.fixture
def visitor() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(analyst())
    return client


def assert_unavailable(answer: Any, *, is_page: bool = False) -> None:
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert b"The key service does not answer" in answer.content
    assert is_page or answer["Content-Type"] == "application/problem+json"


def test_pages_and_api_answer_503_and_publish_nothing(visitor: Client, silenced: Silenced) -> None:
    draft = draft_recipe()
    address = reverse("api-publish", args=[draft.pk])
    with silenced():
        assert_unavailable(publish(visitor, draft), is_page=True)
        asked = {"reviewed": draft.draft_hash}
        assert_unavailable(visitor.post(address, asked, content_type="application/json"))
        draft.refresh_from_db()
        assert draft.status == Recipe.Status.DRAFT
        assert not ErasableKey.objects.exists()
    publish(visitor, draft)
    draft.refresh_from_db()
    assert recipe_private_key(recipe=draft)


def test_key_for_clients_is_neither_made_nor_thought_deleted(visitor: Client, silenced: Silenced) -> None:
    with silenced(), capture_logs() as logged:
        assert_unavailable(visitor.get("/leader/hpke_config"))
        assert not HpkeKey.objects.exists()
    assert [(entry["event"], "PANAPP_ERASABLE_KEYS_DIR" in entry["reason"]) for entry in logged] == [
        ("key_service_failed", True)
    ]
    assert visitor.get("/leader/hpke_config").status_code == 200
    key = HpkeKey.objects.latest("pk")
    with silenced(), pytest.raises(KeyServiceError):
        HPKE_KEYS.private_key(key.config_id)
    assert HPKE_KEYS.private_key(key.config_id)


@pytest.mark.usefixtures("helper_settings")
def test_partner_answers_503(visitor: Client, silenced: Silenced) -> None:
    with silenced():
        assert_unavailable(visitor.get("/helper/hpke_config"))


def test_health_names_the_keys_and_upkeep_deletes_nothing(visitor: Client, silenced: Silenced) -> None:
    recipe = published_recipe()
    rows = ErasableKey.objects.count()
    with silenced(), capture_logs() as logged:
        answer = visitor.get("/health/ready")
        assert (answer.status_code, answer.json()["checks"]["keys"]) == (503, "failed")
        with pytest.raises(KeyServiceError):
            old_keys_erase()
        with pytest.raises(KeyServiceError):
            recipe_private_key(recipe=recipe)
    assert "key_service_failed" in {entry["event"] for entry in logged}
    assert ErasableKey.objects.count() == rows
    assert visitor.get("/health/ready").json()["checks"]["keys"] == "ok"
    assert recipe_private_key(recipe=recipe)
