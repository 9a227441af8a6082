"""Strangers send small batches to a stream with a large state, to fill the database's disk.

A stream takes as many batches in a minute as `PANAPP_STREAM_BYTES_PER_MINUTE` pays for: 4 at 64 MiB, which
write 64 MB. PostgreSQL clears the place of older states within its minute, and the next
ones go there. Empty batches are not free: senders hide by them when items came, and in the database they must
look like all others.
"""

import json
import secrets
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from recipes.models import Recipe
from streams import limits
from streams.models import ItemBatch
from tests.collections.streams.scene import counted, state_of, stream_of
from tests.factories import published_stream

pytestmark = pytest.mark.django_db


def post(recipe: Recipe, *items: str, nonce: bytes | None = None) -> Any:
    body = json.dumps({"batch": (nonce or secrets.token_bytes(16)).hex(), "items": items})
    return Client().post(f"/api/v1/recipes/{recipe.identifier}/items/", body, content_type="application/json")


@pytest.fixture
def minute(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless it is moved on."""
    now = [1_000.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(limits, "_left", {})
    return now


def test_an_empty_batch_leaves_what_a_batch_with_items_leaves(minute: list[float]) -> None:
    recipe = published_stream()
    left = []
    for items in ((), ("3",), ()):
        before = stream_of(recipe)
        with CaptureQueriesContext(connection) as queries:
            assert post(recipe, *items).json() == {"status": "counted"}
        after = stream_of(recipe)
        assert bytes(after.state) != bytes(before.state)
        verbs = [query["sql"].split(maxsplit=1)[0] for query in queries]
        written = [verb for verb in verbs if verb in {"INSERT", "UPDATE", "DELETE"}]
        left.append((written, after.version - before.version, len(after.state), ItemBatch.objects.count()))
    batches = [each[-1] for each in left]
    assert batches == [1, 2, 3]
    assert left[0][:3] == left[1][:3] == left[2][:3]


def test_small_batches_write_64_megabytes_a_minute_at_most(settings: Any, minute: list[float]) -> None:
    recipe = published_stream()
    start = state_of(recipe)
    # As if the state had the 16 MB of the attack.
    settings.STREAM_BYTES_PER_MINUTE *= len(stream_of(recipe).state) / (16 * 1024 * 1024)
    nonces = [secrets.token_bytes(16) for _ in range(8)]
    statuses = [post(recipe, "3", nonce=nonce).status_code for nonce in nonces]
    assert statuses == [200] * 4 + [503] * 4
    assert stream_of(recipe).version == 5
    # What was counted may be sent again for nothing.
    assert [post(recipe, "3", nonce=nonce).status_code for nonce in nonces[:4]] == [200] * 4
    minute[0] += 60
    assert [post(recipe, "3", nonce=nonce).status_code for nonce in nonces] == [200] * 8
    assert counted(recipe, start)[3] == 8


def test_a_flooded_stream_leaves_others_their_share(settings: Any, minute: list[float]) -> None:
    flooded, other = published_stream(), published_stream(name="Another")
    settings.STREAM_BYTES_PER_MINUTE = 1
    assert post(flooded, "1").status_code == 200
    assert post(flooded, "1").status_code == 503
    assert post(flooded, "1")["Retry-After"]
    assert post(other, "1").status_code == 200


def test_postgresql_clears_the_place_of_older_states_soon() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite writes over what is deleted by itself")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT unnest(reloptions) FROM pg_class WHERE oid = "
            "(SELECT reltoastrelid FROM pg_class WHERE relname = 'streams_stream')"
        )
        found = {row[0] for row in cursor.fetchall()}
    assert found == {"autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_threshold=1000"}
