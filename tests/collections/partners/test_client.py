"""What the client makes of whatever comes back: try again, or a refusal for good."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.dap.media import problem_type
from panprivacy.protocols.dap.signatures import sign_response, verify_request
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError, TokenClient
from partners.partner import ask_json

OURS = bytes(range(32))
THEIRS = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
THEIR_KEY = THEIRS.public_key().public_bytes_raw()
URL = "https://peer.test/helper"


class Peer:
    """The other aggregator: says what it is told to say, signed."""

    def __init__(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        self.status, self.body = status, body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.asked: list[tuple[str, str, Mapping[str, str], bytes]] = []

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        self.asked.append((method, url, headers, body))
        signed = sign_response(
            status=self.status,
            headers=self.headers,
            body=self.body,
            request_headers=headers,
            signing_key=THEIRS,
        )
        return self.status, self.headers | signed, self.body

    def client(self) -> PeerClient:
        return PeerClient(
            url=URL, verification_key=THEIR_KEY, signing_key=OURS, transport=self, clock=lambda: 1_000.0
        )


def problem(type_: str, detail: str) -> bytes:
    return json.dumps({"type": type_, "detail": detail}).encode()


class TestAnswers:
    def test_request_is_signed_for_its_address_and_body(self) -> None:
        peer = Peer()
        peer.client().post("/tasks/x", b"body", "text/plain")
        ((method, url, headers, body),) = peer.asked
        assert (method, url, headers["Content-Type"]) == ("POST", f"{URL}/tasks/x", "text/plain")
        key = Ed25519PrivateKey.from_private_bytes(OURS).public_key()
        verify_request(
            method=method, url=url, headers=headers, body=body, verification_key=key, now=1_000, tolerance=0
        )

    def test_answer_carries_location_and_waiting_time(self) -> None:
        answer = Peer(201, b"ready", Location="/helper/jobs/1", Retry_After="30").client().get("/jobs")
        assert answer.location == "/helper/jobs/1"
        assert (answer.body, answer.retry_after) == (b"ready", timedelta(seconds=30))

    @pytest.mark.parametrize("value", ["", "-1", "soon", "1e9", "٣", "9" * 20])
    def test_waiting_time_that_is_no_number_of_seconds_is_none(self, value: str) -> None:
        peer = Peer(Retry_After=value)
        if not value.isascii():
            # Such a header cannot be signed, so it must not be there at all.
            peer.headers = {}
        assert peer.client().get("/jobs").retry_after is None

    @pytest.mark.parametrize(
        ("body", "token"),
        [
            (problem(problem_type("batchOverlap"), "Collected before."), "batchOverlap"),
            *((body, None) for body in (b"", b"<html>", b"[1]", b"[" * 10_000, b'{"detail": 5}')),
        ],
    )
    def test_refusal_carries_its_status_and_token(self, body: bytes, token: str | None) -> None:
        with pytest.raises(PeerRefusedError) as refusal:
            Peer(409, body).client().get("/shares")
        assert (refusal.value.status, refusal.value.token) == (409, token)

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ("a\0b", "a b"),
            ("a\ud800b", "a b"),
            ("one\nline", "one line"),
            ("left\u202eright", "left right"),
            ("\0", "refused with status 409"),
            ("x" * 10_000, "x" * 200),
            ([["nested"]], "refused with status 409"),
            ("Größe: 3 ≠ 4", "Größe: 3 ≠ 4"),
        ],
    )
    def test_words_of_a_refusal_are_told_on_as_one_short_line_of_text(self, said: object, told: str) -> None:
        with pytest.raises(PeerRefusedError) as refusal:
            Peer(409, json.dumps({"detail": said}).encode()).client().get("/shares")
        assert str(refusal.value) == told
        with pytest.raises(PeerUnavailableError) as failure:
            Peer(503, json.dumps({"detail": said}).encode()).client().get("/shares")
        assert str(failure.value).isprintable()

    @pytest.mark.parametrize("status", [301, 401, 403, 408, 411, 413, 425, 429, 500, 503])
    def test_status_that_says_nothing_of_the_request_is_to_be_tried_again(self, status: int) -> None:
        with pytest.raises(PeerUnavailableError, match=str(status)):
            Peer(status, b"").client().get("/jobs")

    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b"[1]", b"[" * 10_000, b'{"a": 1, "a": 1}', b'{"a": NaN}']
    )
    def test_json_that_says_nothing_for_certain_is_to_be_asked_for_again(self, body: bytes) -> None:
        with pytest.raises(PeerUnavailableError, match="the answer is not"):
            ask_json(Peer(200, body).client(), "GET", "/batch")

    @pytest.mark.parametrize("silent", [False, True])
    def test_unsigned_refusal_or_none_is_the_networks_and_to_be_tried_again(self, silent: bool) -> None:
        def network(*request: Any) -> tuple[int, dict[str, str], bytes]:
            if silent:
                raise TimeoutError
            return 404, {}, problem(problem_type("unrecognizedTask"), "Gone.")

        client = PeerClient(url=URL, verification_key=THEIR_KEY, signing_key=OURS, transport=network)
        with pytest.raises(PeerUnavailableError, match="TimeoutError" if silent else "signature"):
            client.get("/tasks")


class TestLocations:
    @pytest.mark.parametrize("location", ["/helper/jobs/1?step=0", f"{URL}/jobs/1?step=0", "/jobs/1?step=0"])
    def test_location_is_followed_whether_whole_or_relative(self, location: str) -> None:
        peer = Peer()
        peer.client().get(location)
        assert peer.asked[0][1] == f"{URL}/jobs/1?step=0"

    @pytest.mark.parametrize(
        "location", ["https://other.test/helper/jobs/1", "//other.test/x", "http://peer.test/x"]
    )
    def test_location_elsewhere_gets_no_signed_request(self, location: str) -> None:
        peer = Peer()
        with pytest.raises(PeerUnavailableError, match="not its own"):
            peer.client().get(location)
        assert peer.asked == []


def bearing(status: int, body: bytes = b"", **headers: str) -> TokenClient:
    """A client of a server that signs nothing and answers so."""
    peer = Peer(status, body, **headers)
    unsigned = peer.status, peer.headers, peer.body
    return TokenClient(url=URL, token={"Authorization": "Bearer abc"}, transport=lambda *_: unsigned)


@pytest.mark.parametrize("status", [400, 409, 410])
def test_refusal_without_signature_is_final_as_a_problem_document_only(status: int) -> None:
    with pytest.raises(PeerRefusedError) as refused:
        bearing(status, problem(problem_type("batchMismatch"), "differs")).post("/tasks", b"", "")
    assert (refused.value.token, str(refused.value)) == ("batchMismatch", "differs")
    for body in (b"", b"<html>", b"[]", b"{}", b'{"type": 1}'):
        with pytest.raises(PeerUnavailableError, match="without a problem document"):
            bearing(status, body).post("/tasks", b"", "")


@pytest.mark.parametrize("status", [301, 401, 403, 404, 408, 429, 500, 503])
def test_other_status_without_signature_is_asked_again(status: int) -> None:
    with pytest.raises(PeerUnavailableError):
        bearing(status, problem("about:blank", "later")).post("/tasks", b"", "")


def test_task_unknown_to_a_server_that_signs_nothing_is_asked_again() -> None:
    with pytest.raises(PeerUnavailableError):
        bearing(400, problem(problem_type("unrecognizedTask"), "unknown")).post("/tasks", b"", "")


@pytest.mark.parametrize(
    "location", ["https://elsewhere.test/tasks", "//elsewhere.test/tasks", "http://peer.test/"]
)
def test_token_goes_to_no_other_host_than_the_partners(location: str) -> None:
    client = bearing(201, location=location)
    with pytest.raises(PeerUnavailableError, match="not its own"):
        client.get(client.post("/tasks", b"", "").location)
