"""Items on their way to a curator: in batches, each under a name of its own."""

import json
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from panprivacy.device.items import BATCH_ITEMS, send_items
from panprivacy.device.transport import TransportError
from tests.panprivacy.device.in_process import InProcessTransport


class Curator:
    """A WSGI application that keeps what it is sent, until it has had enough."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.bodies: list[bytes] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        assert environ["PATH_INFO"] == "/api/v1/recipes/abc/items/"
        if len(self.bodies) == self.batches:
            start_response("409 Conflict", [("Content-Type", "application/problem+json")])
            return [json.dumps({"type": "/problems/recipe-not-open", "title": "Not open"}).encode()]
        self.bodies.append(environ["wsgi.input"].read())
        start_response("200 OK", [("Content-Type", "application/json")])
        return [b'{"status": "counted"}']


ITEMS = [str(number) for number in range(BATCH_ITEMS + 1)]


def test_items_are_sent_in_their_order_in_batches_of_different_names() -> None:
    curator = Curator(batches=2)
    assert send_items(ITEMS, "abc", InProcessTransport(curator), random.Random(1)) == 2
    first, second = (json.loads(body) for body in curator.bodies)
    assert first["items"] + second["items"] == ITEMS
    assert len(first["batch"]) == len(second["batch"]) == 32
    assert first["batch"] != second["batch"]


def test_items_that_are_refused_raise_and_no_more_are_sent() -> None:
    curator = Curator(batches=1)
    with pytest.raises(TransportError) as refused:
        send_items(ITEMS, "abc", InProcessTransport(curator), random.Random(1))
    assert refused.value.status == 409
    assert len(curator.bodies) == 1
