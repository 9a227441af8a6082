"""Signatures are those of Standard Webhooks: the vector that its own libraries are tested with."""

import base64

from notifications.signature import secret_text, signed_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))
MESSAGE, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_signature_is_that_of_the_published_vector() -> None:
    assert secret_text(KEY) == SECRET
    assert signed_headers(MESSAGE, AT, BODY, [KEY]) == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": str(AT),
        "webhook-signature": SIGNATURE,
    }


def test_two_secrets_give_a_signature_each() -> None:
    both = signed_headers(MESSAGE, AT, BODY, [b"new", KEY])["webhook-signature"].split(" ")
    assert len(both) == 2
    assert both[1] == SIGNATURE
