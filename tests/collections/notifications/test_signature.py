"""Signatures are those of Standard Webhooks: the vector that its own libraries are tested with."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from notifications.signature import secret_text, signed_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))
MESSAGE, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_signature_equals_the_published_vector_for_each_secret() -> None:
    assert secret_text(KEY) == SECRET
    signed = {"webhook-id": MESSAGE, "webhook-timestamp": str(AT), "webhook-signature": SIGNATURE}
    assert signed_headers(MESSAGE, AT, BODY, [KEY]) == signed
    both = signed_headers(MESSAGE, AT, BODY, [b"new", KEY])["webhook-signature"].split(" ")
    assert (len(both), both[1]) == (2, SIGNATURE)


def verify_of_the_docs() -> Any:
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    (code,) = re.findall(r"```python\n(import base64.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102  # what receivers copy
    return names["verify"]


def test_receiver_of_the_docs_takes_what_we_sign_and_nothing_else() -> None:
    verify = verify_of_the_docs()
    headers = signed_headers(MESSAGE, AT, BODY, [b"the new secret", KEY])
    verify(SECRET, headers, BODY, now=AT + 299.0)
    for wrong in (
        (secret_text(b"another"), headers, BODY, AT),
        (SECRET, headers, BODY + b" ", AT),
        (SECRET, {**headers, "webhook-id": "msg_other"}, BODY, AT),
        (SECRET, {**headers, "webhook-timestamp": str(AT + 1)}, BODY, AT),
        (SECRET, headers, BODY, AT + 301),
        (SECRET, headers, BODY, None),
    ):
        with pytest.raises(ValueError, match=r"."):
            verify(*wrong[:3], now=wrong[3])
