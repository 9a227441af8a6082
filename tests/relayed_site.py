"""The real site as a device reaches it through a relay: by its own gateway, and in no other way."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.test import Client

from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.protocols.oblivious_http.keys import GATEWAY_PATH
from storage.signing_key import verification_key
from tests.collections.tokens.admission.scene import RELAY_URL
from tests.panprivacy.device.in_process import InProcessTransport


def through_relay() -> ObliviousTransport:
    """A test that asks the site in the clear fails."""
    direct = InProcessTransport(lambda *_: pytest.fail("in the clear"), others={RELAY_URL: relay})
    key = verification_key().public_bytes_raw()
    return ObliviousTransport("https://localhost", RELAY_URL, direct, Gateway("", key))


def relay(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """A WSGI application (PEP 3333): what it is asked, it asks the site's gateway."""
    body = environ["wsgi.input"].read()
    kind = environ.get("CONTENT_TYPE", "")
    answer = Client().generic(environ["REQUEST_METHOD"], GATEWAY_PATH, body, content_type=kind)
    start_response(f"{answer.status_code} Status", list(answer.items()))
    return [answer.content]
