"""Each holder of keys kept them under the key-encryption key alone, as a site kept its recipes' keys.

Before: what a database keeps of a task's share key and verification key, on the leader and on the helper, of
a collector's key, of an analyzer's, of a key that a helper made for a recipe that was never published, and of
an HPKE key whose grace period is over, was opened with the key-encryption key (test_released_key.py).

Now: all of them are sealed under erasable keys, too. When what they are for has ended, not one of these keys
is in the directory any more.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from aggregation.tasks import process_chunk
from dap.hpke_keys import HPKE_KEYS
from gateway.keys import GATEWAY_KEYS
from helper.ending import UNUSED_KEY_LIFETIME, upkeep
from helper.registering import share_key_make
from issuer.ending import issuance_end
from issuer.ending import upkeep as issuer_upkeep
from issuer.models import Issuance
from issuer.registering import token_key_make
from recipes.models import Recipe
from releases.models import Release
from releases.operations import collections_advance
from storage.rotating_keys import grace
from tests.collections.analyzer import scene as analyzer
from tests.collections.issuer import scene as issuer
from tests.collections.two_server import scene as two_server
from tests.factories import published_recipe, published_stream
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db(transaction=True)

ERASABLE = b"PPSE\x01"
NAME_BYTES = 32


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.LEADER_URL, settings.HELPER_URL = two_server.LEADER_URL, two_server.HELPER_URL
    settings.HELPER_KEY = two_server.verification_key_of(two_server.HELPER_SIGNING_KEY)
    settings.SHUFFLER_URL = analyzer.SHUFFLER_URL
    settings.SHUFFLER_KEY = analyzer.verification_key_of(analyzer.SHUFFLER_SIGNING_KEY)
    settings.ERASABLE_KEYS_DIR = tmp_path
    return tmp_path


def sealed_in_database() -> set[bytes]:
    """Every sealed secret of every table, whatever version sealed it; states of streams have other keys."""
    found = set()
    with connection.cursor() as cursor:
        for table in set(connection.introspection.table_names()) - {"streams_stream"}:
            cursor.execute(f'SELECT * FROM "{table}"')
            found |= {
                bytes(value) for row in cursor for value in row if isinstance(value, bytes | memoryview)
            }
    return {value for value in found if value.startswith(b"PPS")}


def keys_in(folder: Path) -> set[bytes]:
    """Names of the erasable keys that are there."""
    return {bytes.fromhex(path.stem.replace("-", "")) for path in folder.iterdir()}


def single_server() -> Recipe:
    return published_recipe()


def single_server_ends(recipe: Recipe) -> None:
    recipe_close(recipe=recipe, actor=None)
    collections_advance()


def two_servers() -> Recipe:
    recipe = two_server.two_server_recipe()
    reports = [two_server.sealed_report(recipe, [bit]) for bit in (1, 1, 0, 0, 1)]
    assert two_server.upload(recipe, reports) == []
    return recipe


def two_servers_end(recipe: Recipe) -> None:
    recipe_close(recipe=recipe, actor=None)
    two_server.settle()
    collections_advance()
    two_server.settle()
    # What devices seal to outlives tasks: it ends so long after it was replaced.
    HPKE_KEYS.rotate(now=timezone.now())
    HPKE_KEYS.expire(now=timezone.now() + 2 * grace())


def shuffled() -> Recipe:
    recipe = analyzer.shuffle_recipe()
    analyzer.fill(recipe, [place % 2 for place in range(recipe.cohort_size)])
    return recipe


def shuffled_ends(recipe: Recipe) -> None:  # its batch closes it
    analyzer.settle()


def never_published() -> Recipe | None:
    share_key_make(request=secrets.token_bytes(16), scheme="elgamal-secp256k1", now=timezone.now())
    return None


def never_published_ends(recipe: Recipe | None) -> None:  # there is none
    upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME)


def tokens() -> None:
    with override_settings(**issuer.SETTINGS):
        assert issuer.Collection().registered().device().ask().handle


def tokens_end(_: None) -> None:
    issuance_end(issuance=Issuance.objects.get(), reason="closed", now=timezone.now())
    GATEWAY_KEYS.rotate(now=timezone.now())
    GATEWAY_KEYS.expire(now=timezone.now() + 2 * grace())


def token_key_unused() -> None:
    token_key_make(request=secrets.token_bytes(16), now=timezone.now())


def token_key_unused_ends(_: None) -> None:
    issuer_upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME)


def stream_ends(recipe: Recipe) -> None:
    recipe_close(recipe=recipe, actor=None)
    collections_advance()


HOLDERS: dict[str, tuple[Callable[[], Any], Callable[[Any], None], int]] = {
    "a site": (single_server, single_server_ends, 1),
    # Verification key and share key on each side, the collector's, and the HPKE key, which both share here.
    "leader and helper": (two_servers, two_servers_end, 6),
    "an analyzer": (shuffled, shuffled_ends, 1),
    "a helper that waits for a recipe": (never_published, never_published_ends, 1),
    # Those of the recipe, which are sealed together, and the gateway's.
    "an issuer": (tokens, tokens_end, 2),
    "an issuer that waits for a recipe": (token_key_unused, token_key_unused_ends, 1),
    "a curator, of its sample": (published_stream, stream_ends, 1),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_no_key_of_a_holder_is_left_once_what_it_is_for_has_ended(
    holder: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_chunk, "delay", lambda *_: None)
    begin, end, number = HOLDERS[holder]
    recipe = begin()
    sealed = sealed_in_database()
    assert len(sealed) == number
    names = {value[len(ERASABLE) : len(ERASABLE) + NAME_BYTES] for value in sealed}
    assert {value[: len(ERASABLE)] for value in sealed} == {ERASABLE}
    assert keys_in(folder) == names
    end(recipe)
    assert recipe is None or Release.objects.filter(recipe=recipe).exists()
    assert not sealed & sealed_in_database()
    assert not names & keys_in(folder)
    assert len(keys_in(folder)) == len(sealed_in_database())
