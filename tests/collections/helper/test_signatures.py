"""Whoever is not the leader gets nothing done, and the leader knows every answer to be the helper's."""

import json
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dap.models import BatchBucket
from dap.selectors import report_count
from helper import views
from panprivacy import base64_text
from panprivacy.dap.aggregation import AggregationJobInitReq
from panprivacy.dap.media import media_type
from panprivacy.dap.signatures import sign_request
from peers.client import PeerClient, PeerRefusedError, PeerUnavailableError
from storage.signing_key import verification_key
from tests.collections.helper.scene import (
    HELPER_URL,
    LEADER_KEY,
    LEADER_SIGNING_KEY,
    Leader,
    peer,
    registered,
    transport,
)

OTHER_SIGNING_KEY = bytes(range(1, 33))


class BrokenInput(BytesIO):
    """A connection that ended before the body did."""

    def read(self, size: int | None = -1) -> bytes:
        raise OSError


def everything_signed(leader: Leader) -> list[tuple[str, str]]:
    """Method and path of every resource that is for the leader alone."""
    task, some = leader.path, "A" * 22
    return [
        ("POST", "/keys"),
        ("GET", task),
        ("PUT", task),
        ("DELETE", task),
        ("POST", f"{task}/aggregation_jobs"),
        *((method, f"{task}/aggregation_jobs/{some}") for method in ("GET", "POST", "DELETE")),
        ("POST", f"{task}/aggregate_shares"),
        *((method, f"{task}/aggregate_shares/{some}") for method in ("GET", "DELETE")),
    ]


@pytest.mark.django_db
class TestRequests:
    def test_unsigned_request_is_refused_whatever_it_asks_for(self) -> None:
        leader = registered()
        for method, path in everything_signed(leader):
            response = Client().generic(method, f"/helper{path}", b"{}", "application/json")
            assert response.status_code == 401, (method, path)
            assert response["Content-Type"] == "application/problem+json"
        assert leader.task.state == "open"

    def test_request_of_another_signer_is_refused_whatever_it_asks_for(self) -> None:
        leader = registered()
        stranger = peer(OTHER_SIGNING_KEY)
        for method, path in everything_signed(leader):
            with pytest.raises(PeerUnavailableError, match="status 403"):
                stranger.send(method, path, b"{}", "application/json")
        assert leader.task.state == "open"

    def test_good_job_of_another_signer_adds_nothing(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(3))
        with pytest.raises(PeerUnavailableError, match="status 403"):
            peer(OTHER_SIGNING_KEY).post(
                f"{leader.path}/aggregation_jobs", body, media_type(AggregationJobInitReq)
            )
        assert not BatchBucket.objects.exists()

    @pytest.mark.parametrize(
        "change", [{"method": "PUT"}, {"url": "https://other.test"}, {"body": b"other"}, {"created": -400}]
    )
    def test_signature_for_another_request_is_refused(self, change: dict[str, Any]) -> None:
        leader = registered()
        body = json.dumps({"reason": "captured"}).encode()
        url = change.get("url", "https://helper.test") + f"/helper{leader.path}"
        headers = sign_request(
            method=change.get("method", "DELETE"),
            url=url,
            body=change.get("body", body),
            content_type="application/json",
            signing_key=peer()._signing_key,
            created=int(timezone.now().timestamp()) + change.get("created", 0),
        )
        response = Client().generic(
            "DELETE", f"/helper{leader.path}", body, "application/json", headers=headers
        )
        assert response.status_code == 403
        assert response.json()["taskid"] == base64_text.encode_url(leader.task_id)
        assert leader.task.state == "open"

    def test_other_spelling_of_a_task_has_no_address(self) -> None:
        leader = registered()
        leader.task_id = bytes(32)
        spelled = leader.path[:-1] + "B"
        with pytest.raises(PeerUnavailableError, match="status 404"):
            peer().get(spelled)


@pytest.mark.django_db
class TestAnswers:
    def test_refusals_are_signed(self) -> None:
        leader = registered()
        for method, path in everything_signed(leader):
            with pytest.raises(PeerRefusedError):
                # The client believes nothing that is not signed: it would say "unavailable".
                peer().send(
                    method, path.replace(leader.path, f"/tasks/{'A' * 43}"), b"{}", "application/json"
                )

    def test_method_that_is_not_known_is_refused_with_a_signature(self) -> None:
        with pytest.raises(PeerRefusedError) as refusal:
            peer().send("PATCH", "/keys")
        assert refusal.value.status == 405

    @pytest.mark.parametrize(
        ("environ", "status"),
        [
            ({"HTTP_TRANSFER_ENCODING": "chunked"}, 411),
            ({"CONTENT_LENGTH": str(2**40)}, 413),
            ({"wsgi.input": BrokenInput()}, 408),
        ],
    )
    def test_refusal_before_the_signature_holds_ends_nothing_and_the_job_can_be_sent_again(
        self, environ: dict[str, Any], status: int
    ) -> None:
        """What the network did to a request says nothing of the request, whoever signs the answer."""
        leader = registered()
        reports = leader.reports(3)
        body = leader.request(reports)
        client = PeerClient(
            url=HELPER_URL,
            verification_key=verification_key().public_bytes_raw(),
            signing_key=LEADER_SIGNING_KEY,
            transport=partial(transport, **environ),
        )
        with pytest.raises(PeerUnavailableError, match=f"status {status}"):
            client.post(f"{leader.path}/aggregation_jobs", body, media_type(AggregationJobInitReq))
        assert not BatchBucket.objects.exists()
        assert leader.finish(reports, leader.send_job(body).body) == ["ok"] * 3

    def test_fault_of_ours_is_signed_and_says_that_it_may_be_asked_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        leader = registered()

        def fail(**arguments: Any) -> None:
            raise RuntimeError("a fault")

        monkeypatch.setattr(views, "aggregation_job_create", fail)
        with pytest.raises(PeerUnavailableError, match="The fault is on our side"):
            leader.send_job(leader.request(leader.reports(1)))

    def test_busy_database_is_signed_and_says_when_to_ask_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        leader = registered()

        def fail(**arguments: Any) -> None:
            raise OperationalError("locked")

        monkeypatch.setattr(views, "aggregation_job_create", fail)
        with pytest.raises(PeerUnavailableError, match=r"status 503.*Ask again"):
            leader.send_job(leader.request(leader.reports(1)))

    def test_answer_of_another_signer_is_not_believed(self) -> None:
        leader = registered()
        mistaken = PeerClient(
            url=HELPER_URL, verification_key=LEADER_KEY, signing_key=LEADER_SIGNING_KEY, transport=transport
        )
        with pytest.raises(PeerUnavailableError, match="without a signature"):
            mistaken.get(leader.path)

    def test_answer_to_another_request_is_not_believed(self) -> None:
        """A network that plays back an older answer, genuine as it is."""
        leader = registered()
        recorded: list[Any] = []

        def recording(*request: Any) -> Any:
            recorded.append(transport(*request))
            return recorded[0]

        now = timezone.now().timestamp()
        # Later for the second request, whose signature must be another.
        client = PeerClient(
            url=HELPER_URL,
            verification_key=verification_key().public_bytes_raw(),
            signing_key=LEADER_SIGNING_KEY,
            transport=recording,
            clock=lambda: now + 2 * len(recorded),
        )
        client.get(leader.path)
        with pytest.raises(PeerUnavailableError, match="without a signature"):
            client.get(leader.path)

    def test_answer_cut_short_is_not_believed_and_the_job_can_be_sent_again(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(3))

        def cutting(*request: Any) -> Any:
            status, headers, content = transport(*request)
            return status, headers, content[:-1]

        client = PeerClient(
            url=HELPER_URL,
            verification_key=verification_key().public_bytes_raw(),
            signing_key=LEADER_SIGNING_KEY,
            transport=cutting,
        )
        with pytest.raises(PeerUnavailableError):
            client.post(f"{leader.path}/aggregation_jobs", body, media_type(AggregationJobInitReq))
        assert len(leader.send_job(body).body) > 0
        assert report_count(leader.task) == 3
