"""No item is ever written down: the database, the broker, the logs and every file are searched for them."""

import json
import os
import secrets
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from django.db import connection

from publishing.publication import recipe_close
from results.models import Release
from simulations.installation.services import Services, wait_until
from streams.sealed_state import key_slots
from tests.collections.streams.scene import batch_body, in_database, in_files, stream_of
from tests.factories import published_stream
from tests.patience import PATIENCE
from tests.processes import services_on_test_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.long]

MARK = secrets.token_hex(12)
"""In every item that is sent, good or bad."""


def post(url: str, body: bytes, media_type: str) -> int:
    headers = {"Content-Type": media_type}
    request = urllib.request.Request(url, body, headers)  # noqa: S310  # http to ourselves
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310  # http to ourselves
            text, status = answer.read(), answer.status
    except urllib.error.HTTPError as error:
        text, status = error.read(), error.code
    assert MARK.encode() not in text
    return status


@contextmanager
def broker_overheard(services: Services) -> Iterator[list[str]]:
    """Everything that anybody says to the broker meanwhile."""
    heard: list[str] = []
    # The broker that a URL names, as in production, or else the embedded one.
    url = os.environ.get("CELERY_BROKER_URL")
    embedded = services._broker
    client = (
        redis.Redis.from_url(url) if url else redis.Redis(unix_socket_path=str(embedded.unix_socket_path))
    )
    with client.monitor() as monitor:
        listening = threading.Thread(target=listen, args=(monitor, heard), daemon=True)
        listening.start()
        yield heard
        client.echo("the end")
        listening.join(PATIENCE)
    heard.extend(repr((key, client.dump(key))) for key in client.scan_iter())
    client.close()


def listen(monitor: Any, heard: list[str]) -> None:
    for command in monitor.listen():
        heard.append(command["command"])
        if command["command"] == "ECHO the end":
            return


def test_items_good_and_bad_are_found_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    recipe = published_stream(statistic="density", t=None, items="hashed")
    nonce = secrets.token_bytes(16)
    good = [f"{MARK}-{number}" for number in range(500)]
    bad = {**batch_body([MARK]), "items": [MARK, MARK * 50]}
    disposition = f'Content-Disposition: form-data; name="items"; filename="{MARK}"'
    upload = f"--x\r\n{disposition}\r\n\r\n{MARK}\r\n--x--"
    with services_on_test_database() as services, broker_overheard(services) as heard:
        url = f"{services.base_url}/api/v1/recipes/{recipe.identifier}/items/"
        sent = [
            (json.dumps(batch_body(good, nonce)).encode(), "application/json", 200),
            (json.dumps(batch_body(good)).encode(), "application/msgpack", 415),
            (json.dumps(bad).encode(), "application/json", 422),
            (json.dumps({"batch": MARK, "items": [MARK]}).encode(), "application/json", 422),
            (json.dumps({MARK: MARK}).encode(), "application/json", 400),
            (MARK.encode(), "application/json", 400),
            (f"items={MARK}".encode(), "application/x-www-form-urlencoded", 415),
            (upload.encode(), "multipart/form-data; boundary=x", 415),
        ]
        for body, media_type, status in sent:
            assert post(url, body, media_type) == status
        # An error on the way, which is logged: the state cannot be read for a moment.
        keys = key_slots(stream_of(recipe).id).path
        keys.rename(keys.with_suffix(".elsewhere"))
        assert post(url, json.dumps(batch_body(good)).encode(), "application/json") == 500
        keys.with_suffix(".elsewhere").rename(keys)
        # The search finds what is there: the nonce is kept until the release.
        assert "streams_itembatch" in in_database(nonce)
        assert in_files(nonce) or connection.vendor != "sqlite"  # PostgreSQL's files are not ours
        kept = in_files(MARK.encode()), in_database(MARK.encode())
        recipe_close(recipe=recipe, actor=None)
        assert wait_until(lambda: Release.objects.filter(recipe=recipe).exists(), PATIENCE)
        later = in_files(MARK.encode()), in_database(MARK.encode())
    log = "".join(capfd.readouterr())
    assert "stream_lost" in log
    assert any("advance_collections" in said for said in heard)
    assert kept == later == (set(), set())
    assert MARK not in log
    assert not [said for said in heard if MARK in said]
