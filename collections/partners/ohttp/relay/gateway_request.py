"""One request to a gateway, and what may be passed on of the answer."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from panprivacy.protocols.oblivious_http import signed_keys
from panprivacy.protocols.oblivious_http.capsules import REQUEST_MEDIA_TYPE, RESPONSE_MEDIA_TYPE
from panprivacy.protocols.oblivious_http.keys import GATEWAY_PATH
from panprivacy.protocols.oblivious_http.keys import MEDIA_TYPE as KEYS_MEDIA_TYPE
from web.problems import CONTENT_TYPE as PROBLEM_MEDIA_TYPE
from web.problems import Problem, unavailable
from web.transport import https_transport

SECONDS = 30.0
"""For a request as a whole. Devices send again by themselves; a relay never does."""

LARGEST_ANSWER = 1024 * 1024
"""Bytes of an answer: a recipe is shorter."""

MOST_UNDER_WAY = 24
"""Requests of one process that wait for one gateway. It has 32 threads: however slow this gateway is,
the others are left to other gateways."""

_UNDER_WAY: Counter[str] = Counter()
_COUNTING = threading.Lock()

_CACHE_CONTROL = re.compile(r"[ -~]{1,200}")
"""What is passed on of it: nothing that would be another header, or more than caches need."""

_SIGNATURE_FIELD = signed_keys.HEADER.lower()

_PASSED_ON = (RESPONSE_MEDIA_TYPE, KEYS_MEDIA_TYPE, PROBLEM_MEDIA_TYPE)


@dataclass(frozen=True)
class Answer:
    """What a gateway answered.

    Attributes:
        cache_control: for keys, the gateway's value; no other answer may be cached.
        key_signature: of keys, by the server that has the gateway; empty if there is none.
    """

    status: int
    content_type: str
    body: bytes
    cache_control: str
    key_signature: str


def forward(gateway: str, method: str, body: bytes) -> Answer:
    """Send a capsule, or ask for the keys. Nothing about the sender is forwarded.

    Args:
        gateway: base address of the server that has the gateway.
        method: `GET` or `POST`.

    Raises:
        Problem: no answer (504), or one that is no gateway's (502). Or nothing was sent, as `MOST_UNDER_WAY`
            wait for this gateway (503).
    """
    headers = {"Content-Type": REQUEST_MEDIA_TYPE} if method == "POST" else {}
    try:
        with _one_more(gateway):
            status, fields, content = https_transport(
                *(method, gateway + GATEWAY_PATH, headers, body),
                seconds=SECONDS,
                # No more is read, no matter who answers there.
                largest_answer=LARGEST_ANSWER,
            )
    except OSError:
        detail = "It may have got the request. Send it again: a report counts once."
        raise Problem("gateway-silent", "The gateway did not answer", 504, detail) from None
    named = {name.lower(): value for name, value in fields.items()}
    content_type = named.get("content-type", "").partition(";")[0].strip()
    # A gateway's answer may neither redirect nor refer to a cached answer.
    if content_type not in _PASSED_ON or not (status == 200 or 400 <= status < 600):
        raise Problem("gateway-failed", "What answered is no gateway", 502, "Send it again later.")
    cache_control, key_signature = named.get("cache-control", ""), named.get(_SIGNATURE_FIELD, "")
    is_kept = method == "GET" and _CACHE_CONTROL.fullmatch(cache_control)
    is_signed = method == "GET" and signed_keys.SIGNATURE.fullmatch(key_signature)
    return Answer(
        status,
        content_type,
        content,
        cache_control if is_kept else "no-store",
        key_signature if is_signed else "",
    )


@contextmanager
def _one_more(gateway: str) -> Iterator[None]:
    with _COUNTING:
        if _UNDER_WAY[gateway] >= MOST_UNDER_WAY:
            raise unavailable("The gateway answers too slowly, and too many wait for it. Send it again.")
        _UNDER_WAY[gateway] += 1
    try:
        yield
    finally:
        with _COUNTING:
            _UNDER_WAY[gateway] -= 1
