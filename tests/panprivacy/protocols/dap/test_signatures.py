"""A signature holds for exactly one message, and an answer for exactly one request."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.protocols.dap.signature_base import (
    Component,
    SignatureRefusedError,
    read_input,
    read_signature,
    signature_base,
    write_input,
    write_signature,
)
from panprivacy.protocols.dap.signatures import (
    content_digest,
    sign_request,
    sign_response,
    verify_request,
    verify_response,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
NOW = 1_795_000_000
REQUEST = {
    "method": "POST",
    "url": "https://helper.example/helper/tasks/8BY0/aggregation_jobs",
    "body": b"aggregation job",
}
CONTENT_TYPE = "application/ppm-dap;message=aggregation-job-init-req"
SIGNED = sign_request(**REQUEST, content_type=CONTENT_TYPE, signing_key=KEY, created=NOW)
RESPONSE = {"status": 201, "body": b"answer"}
RESPONSE_HEADERS = {"Content-Type": "text/plain", "Location": "/here", "Retry-After": "7", "Date": "today"}
ANSWERED = sign_response(**RESPONSE, headers=RESPONSE_HEADERS, request_headers=SIGNED, signing_key=OTHER_KEY)


def verify(headers: Mapping[str, str] | None = None, **changes: Any) -> None:
    """The signed request, with changes, as the recipient checks it."""
    headers = {"Content-Type": CONTENT_TYPE} | SIGNED if headers is None else headers
    arguments = {**REQUEST, "verification_key": KEY.public_key(), "now": NOW} | changes
    verify_request(headers=headers, **arguments)


def verify_answer(headers: Mapping[str, str] | None = None, **changes: Any) -> None:
    """The signed response, with changes, as the sender of the request checks it."""
    headers = RESPONSE_HEADERS | ANSWERED if headers is None else headers
    arguments = {
        **RESPONSE,
        "request_headers": SIGNED,
        "verification_key": OTHER_KEY.public_key(),
        "now": NOW,
    }
    arguments |= changes
    verify_response(headers=headers, **arguments)


# The example of RFC 9421, appendix B.2.6, over the request of B.2 with the key of B.1.4.
EXAMPLE_KEY = base64.b64decode("MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF")
EXAMPLE_VALUES = {
    Component("date"): "Tue, 20 Apr 2021 02:07:55 GMT",
    Component("@method"): "POST",
    Component("@path"): "/foo",
    Component("@authority"): "example.com",
    Component("content-type"): "application/json",
    Component("content-length"): "18",
}
EXAMPLE_INPUT = (
    'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length")'
    ';created=1618884473;keyid="test-key-ed25519"'
)
EXAMPLE_BASE = b"""\
"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")\
;created=1618884473;keyid="test-key-ed25519\""""
EXAMPLE_SIGNATURE = (
    "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
)


def test_signature_base_is_that_of_the_rfcs_example():
    found = read_input(EXAMPLE_INPUT)
    assert found.label == "sig-b26"
    assert found.created == 1618884473
    assert signature_base(found.components, EXAMPLE_VALUES, found.parameters) == EXAMPLE_BASE
    parameters = {"created": 1618884473, "keyid": "test-key-ed25519"}
    assert write_input("sig-b26", tuple(EXAMPLE_VALUES), parameters) == EXAMPLE_INPUT

    key = load_der_private_key(EXAMPLE_KEY, None)
    assert isinstance(key, Ed25519PrivateKey)
    assert write_signature("sig-b26", key.sign(EXAMPLE_BASE)) == EXAMPLE_SIGNATURE
    assert read_signature(EXAMPLE_SIGNATURE, "sig-b26") == key.sign(EXAMPLE_BASE)

    # RFC 9530, appendix B.1: the digest of this content.
    assert content_digest(b'{"hello": "world"}\n') == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"


def test_component_identifier_of_a_requests_signature_is_that_of_the_rfc():
    component = Component("signature", of_request=True, key="sig1")
    assert str(component) == '"signature";req;key="sig1"'
    assert read_input('a=("signature";req;key="sig1")').components == (component,)


def test_verify_request_as_it_was_signed_holds_with_a_body_or_without():
    verify()
    verify({name.upper(): value for name, value in ({"content-type": CONTENT_TYPE} | SIGNED).items()})
    verify(now=NOW + 300)
    verify(now=NOW - 300)
    signed = sign_request(method="GET", url="https://h", body=b"", signing_key=KEY, created=NOW)
    verify(signed, method="GET", url="https://h", body=b"")


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "DELETE"},
        {"url": REQUEST["url"] + "/"},
        {"url": "https://other.example/helper/tasks/8BY0/aggregation_jobs"},
        {"body": b"aggregation jobs"},
        {"body": b""},
        {"verification_key": OTHER_KEY.public_key()},
        {"now": NOW + 301},
        {"now": NOW - 301},
        {"headers": SIGNED | {"Content-Type": "application/json"}},
        {"headers": SIGNED},
        {"headers": {}},
        *(
            {"headers": {name: value for name, value in SIGNED.items() if name != missing}}
            for missing in SIGNED
        ),
        {"headers": SIGNED | {"Content-Type": CONTENT_TYPE, "Content-Digest": "sha-512=:YWJj:"}},
        {"headers": SIGNED | {"Content-Type": CONTENT_TYPE, "Content-Digest": content_digest(b"other")}},
        {"headers": SIGNED | {"Content-Type": CONTENT_TYPE, "Signature": "dap=:YWJj:"}},
        {"headers": SIGNED | {"Content-Type": CONTENT_TYPE, "Signature": "dap=:YWJ:"}},
        {
            "headers": SIGNED
            | {"Content-Type": CONTENT_TYPE, "Signature": SIGNED["Signature"].replace("dap=", "sig=")}
        },
    ],
)
def test_verify_request_that_differs_in_one_thing_is_refused(changes):
    with pytest.raises(SignatureRefusedError):
        verify(**changes)


@pytest.mark.parametrize(
    ("former", "latter"),
    [
        ('"@method" ', ""),
        (' "content-type"', ""),
        (f";created={NOW}", ';created="now"'),
        ("dap=(", "sig=("),
        ('"@method" ', '"@method" "@method" '),
        ('"@method" ', '"@method"  '),
        ('"@method"', "@method"),
        ('"@method"', '"@method";bs'),
        ('"@method"', '"@method";req'),
        ('"@method"', '"@query-param";name="x"'),
        ('"@target-uri" "content-digest"', '"content-digest" "@target-uri"'),
        (")", '), other=("@method")'),
    ],
)
def test_verify_request_whose_signature_says_otherwise_is_refused(former, latter):
    assert former in SIGNED["Signature-Input"]
    altered = SIGNED["Signature-Input"].replace(former, latter, 1)
    with pytest.raises(SignatureRefusedError):
        verify({"Content-Type": CONTENT_TYPE} | SIGNED | {"Signature-Input": altered})


def signature_headers(
    covered: dict[Component, str], parameters: dict[str, Any], key: Ed25519PrivateKey, label: str = "dap"
) -> dict[str, str]:
    """The two headers of a signature that covers these."""
    described = write_input(label, tuple(covered), parameters)
    base = signature_base(tuple(covered), covered, described.removeprefix(f"{label}="))
    return {"Signature-Input": described, "Signature": write_signature(label, key.sign(base))}


def signed_otherwise(
    components: tuple[str, ...] = ("@method", "@target-uri", "content-digest"),
    *,
    label: str = "dap",
    **changes: int | str | None,
) -> dict[str, str]:
    """The request without content type, by the same key, with a signature that holds and covers or says
    something else."""
    values = {
        "@method": "POST",
        "@target-uri": REQUEST["url"],
        "content-digest": SIGNED["Content-Digest"],
        "date": "today",
    }
    covered = {Component(name): values[name] for name in components}
    parameters = {"created": NOW, "alg": "ed25519", "tag": "dap-18"} | changes
    said = {name: value for name, value in parameters.items() if value is not None}
    return SIGNED | signature_headers(covered, said, KEY, label) | {"Date": "today"}


def test_verify_request_signed_otherwise_holds_where_nothing_is_missing():
    verify(signed_otherwise())
    verify(signed_otherwise(("content-digest", "@target-uri", "@method")))
    verify(signed_otherwise(keyid="leader"))


@pytest.mark.parametrize(
    "components",
    [("@method", "@target-uri"), ("@method", "content-digest"), ("@target-uri", "content-digest"), ()],
)
def test_verify_request_with_less_covered_is_refused(components):
    """The key's own holder cannot leave a part of the message open to change."""
    with pytest.raises(SignatureRefusedError, match="does not cover"):
        verify(signed_otherwise(components))


@pytest.mark.parametrize(
    "changes",
    [
        {"tag": "recipes"},
        {"tag": None},
        {"alg": "rsa-pss-sha512"},
        {"alg": None},
        {"label": "sig1"},
        {"created": None},
        {"created": NOW - 301},
        {"created": NOW + 301},
    ],
)
def test_verify_request_signed_for_something_else_is_refused(changes):
    with pytest.raises(SignatureRefusedError, match=r"not one of this protocol|not made just now"):
        verify(signed_otherwise(**changes))


def test_verify_request_with_an_expired_signature_is_refused():
    headers = signed_otherwise(expires=NOW + 10)
    verify(headers, now=NOW + 10)
    with pytest.raises(SignatureRefusedError, match="expired"):
        verify(headers, now=NOW + 11)
    with pytest.raises(SignatureRefusedError, match="no number"):
        verify(signed_otherwise(expires="later"))


def test_verify_response_with_an_expired_signature_is_refused():
    request_signature = SIGNED["Signature"].removeprefix("dap=")
    values = {
        Component("@status"): "201",
        Component("content-digest"): content_digest(b"answer"),
        Component("signature", of_request=True, key="dap"): request_signature,
    }
    parameters = {"expires": NOW, "alg": "ed25519", "tag": "dap-18"}
    headers = {"Content-Digest": content_digest(b"answer")} | signature_headers(values, parameters, OTHER_KEY)
    verify_answer(headers, now=NOW)
    with pytest.raises(SignatureRefusedError, match="expired"):
        verify_answer(headers, now=NOW + 1)


def test_verify_request_with_more_covered_holds_while_that_is_unchanged():
    headers = signed_otherwise(("@method", "@target-uri", "content-digest", "date"))
    verify(headers)
    with pytest.raises(SignatureRefusedError, match="does not hold"):
        verify(headers | {"Date": "tomorrow"})
    with pytest.raises(SignatureRefusedError, match='there is no "date"'):
        verify({name: value for name, value in headers.items() if name != "Date"})


def test_verify_request_header_named_as_a_component_counts_for_nothing():
    with pytest.raises(SignatureRefusedError):
        verify({"Content-Type": CONTENT_TYPE, "@method": "POST"} | SIGNED, method="DELETE")


def test_verify_request_with_a_further_digest_holds():
    """A proxy or library may add digests of other algorithms; the signature then covers them too."""
    digest = f"sha-512=:YWJj:, {content_digest(REQUEST['body'])}"
    values = {"@method": "POST", "@target-uri": REQUEST["url"], "content-digest": digest}
    covered = {Component(name): value for name, value in values.items()}
    parameters = {"created": NOW, "alg": "ed25519", "tag": "dap-18"}
    verify({"Content-Digest": digest} | signature_headers(covered, parameters, KEY))


def test_verify_response_as_it_was_signed_holds():
    verify_answer()
    verify_answer(RESPONSE_HEADERS | ANSWERED | {"Date": "tomorrow", "Server": "any"})


@pytest.mark.parametrize(
    "changes",
    [
        {"status": 200},
        {"body": b"answers"},
        {"verification_key": KEY.public_key()},
        *({"headers": RESPONSE_HEADERS | ANSWERED | {name: "9"}} for name in list(RESPONSE_HEADERS)[:3]),
        {"headers": ANSWERED},
        {"headers": RESPONSE_HEADERS},
        {"headers": RESPONSE_HEADERS | SIGNED},
    ],
)
def test_verify_response_that_differs_in_one_thing_is_refused(changes):
    with pytest.raises(SignatureRefusedError):
        verify_answer(**changes)


@pytest.mark.parametrize("change", [{"url": "https://x"}, {"body": b"x"}, {"method": "GET"}, {"created": 1}])
def test_verify_response_to_another_request_is_refused(change):
    arguments = {**REQUEST, "content_type": CONTENT_TYPE, "signing_key": KEY, "created": NOW} | change
    with pytest.raises(SignatureRefusedError):
        verify_answer(request_headers=sign_request(**arguments))


def test_verify_response_with_a_location_that_is_not_covered_is_refused():
    signed = sign_response(**RESPONSE, headers={}, request_headers=SIGNED, signing_key=OTHER_KEY)
    verify_answer(signed)
    with pytest.raises(SignatureRefusedError, match='does not cover "location"'):
        verify_answer(signed | {"Location": "/elsewhere"})


def test_sign_response_to_a_request_without_signature_is_refused():
    with pytest.raises(SignatureRefusedError):
        sign_response(**RESPONSE, headers={}, request_headers={"Host": "h"}, signing_key=KEY)


@pytest.mark.parametrize("value", ["two\nlines", "two\rlines", "naïve"])
def test_sign_request_value_that_is_not_one_line_of_ascii_is_refused(value):
    with pytest.raises(SignatureRefusedError, match="not one line of ASCII"):
        sign_request(method="GET", url=value, body=b"", signing_key=KEY, created=NOW)


@settings(max_examples=20)
@given(st.dictionaries(st.sampled_from(["content-digest", "signature-input", "signature"]), st.text()))
def test_verify_request_with_any_headers_raises_nothing_else(headers):
    with pytest.raises(SignatureRefusedError):
        verify(headers)


@given(
    st.text(
        st.sampled_from('dap=()"@-; :req,key0123456789createdmethodtarget-uricontent-digestalg'), max_size=120
    )
)
def test_read_input_of_any_text_raises_nothing_else(text):
    try:
        found = read_input(text)
    except SignatureRefusedError:
        return
    assert text.startswith(f"{found.label}={found.parameters}")
