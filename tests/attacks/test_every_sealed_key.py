"""The key-encryption key alone must open no private key of a site or partner.

All of them are sealed under erasable keys, too. When their recipe has ended, none of these keys is in the
directory.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from dap.helper.registrations import share_key_make
from dap.helper.task_ends import UNUSED_KEY_LIFETIME, upkeep
from dap.hpke_keys import HPKE_KEYS
from joint_key.helper.keys import key_commit
from joint_key.helper.sums import upkeep as joint_upkeep
from partners.ohttp.gateway.keys import GATEWAY_KEYS
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.aggregation.tasks import process_chunk
from results.models import Release
from storage.rotating_keys import grace
from tests.collections.joint_key import scene as joint_key
from tests.collections.publishing import scene as two_server
from tests.collections.shuffle.analyzer import scene as analyzer
from tests.collections.tokens.issuer import scene as issuer
from tests.driving import collections_advance
from tests.factories import published_recipe, published_stream
from tokens.issuer.models import Issuance
from tokens.issuer.recipe_ends import issuance_end
from tokens.issuer.recipe_ends import upkeep as issuer_upkeep
from tokens.issuer.registrations import token_key_make

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


def close_and_release(recipe: Recipe) -> None:
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


def joint_keys_end(recipe: Recipe) -> None:
    joint_key.reported(recipe)
    recipe_close(recipe=recipe, actor=None)
    joint_key.settle()


def joint_half() -> None:
    key_commit(request=bytes(16), context=bytes(32), leader_commitment=bytes(32), now=timezone.now())


def shuffled() -> Recipe:
    recipe = analyzer.shuffle_recipe()
    analyzer.fill(recipe, [place % 2 for place in range(recipe.cohort_size)])
    return recipe


def key_without_recipe(make: Callable[..., object], **options: str) -> None:
    make(request=secrets.token_bytes(16), now=timezone.now(), **options)


def tokens() -> None:
    with override_settings(**issuer.SETTINGS):
        assert issuer.Collection().registered().device().ask().handle


def tokens_end(_: None) -> None:
    issuance_end(issuance=Issuance.objects.get(), reason="closed", now=timezone.now())
    GATEWAY_KEYS.rotate(now=timezone.now())
    GATEWAY_KEYS.expire(now=timezone.now() + 2 * grace())


HOLDERS: dict[str, tuple[Callable[[], Any], Callable[[Any], None], int]] = {
    "a site": (published_recipe, close_and_release, 1),
    # Verification key and share key on each side, the collector's, and an HPKE key for each KEM, which both
    # share here.
    "leader and helper": (two_servers, two_servers_end, 7),
    "an analyzer": (shuffled, lambda _: analyzer.settle(), 1),  # its batch closes it
    "a helper that waits for a recipe": (
        lambda: key_without_recipe(share_key_make, scheme="elgamal-secp256k1"),
        lambda _: upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME),
        1,
    ),
    "two servers with a joint key": (joint_key.joint_recipe, joint_keys_end, 2),
    "a helper that waits for a recipe with a joint key": (
        joint_half,
        lambda _: joint_upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME),
        1,
    ),
    # Those of the recipe, which are sealed together, and the gateway's, one for each KEM.
    "an issuer": (tokens, tokens_end, 3),
    "an issuer that waits for a recipe": (
        lambda: key_without_recipe(token_key_make),
        lambda _: issuer_upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME),
        1,
    ),
    "a curator, of its sample": (published_stream, close_and_release, 1),
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
