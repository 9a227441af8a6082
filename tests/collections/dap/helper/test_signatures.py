"""Whoever is not the leader gets nothing done, and the leader knows every answer to be the helper's."""

import json
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dap.helper import views
from dap.models import BatchBucket
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.aggregation import AggregationJobInitReq
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.signatures import sign_request
from partners.client import PeerRefusedError, PeerUnavailableError
from tests.collections.dap.helper.scene import Leader, peer, registered, transport

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
    def test_request_that_the_leader_did_not_sign_is_refused(self) -> None:
        leader, stranger = registered(), peer(OTHER_SIGNING_KEY)
        for method, path in everything_signed(leader):
            response = Client().generic(method, f"/helper{path}", b"{}", "application/json")
            assert response.status_code == 401, (method, path)
            assert response["Content-Type"] == "application/problem+json"
            with pytest.raises(PeerUnavailableError, match="status 403"):
                stranger.send(method, path, b"{}", "application/json")
        assert leader.task.state == "open"

    @pytest.mark.parametrize(
        ("origin", "age"), [("https://other.test", 0), ("https://helper.test", 400)], ids=["origin", "age"]
    )
    def test_signature_for_another_origin_or_of_long_ago_is_refused(self, origin: str, age: int) -> None:
        leader = registered()
        body = json.dumps({"reason": "captured"}).encode()
        path = f"/helper{leader.path}"
        headers = sign_request(
            method="DELETE",
            url=origin + path,
            body=body,
            content_type="application/json",
            signing_key=peer()._signing_key,
            created=int(timezone.now().timestamp()) - age,
        )
        response = Client().generic("DELETE", path, body, "application/json", headers=headers)
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
        """The client believes nothing that is not signed: it would say "unavailable"."""
        leader = registered()
        for method, path in [*everything_signed(leader), ("PATCH", "/keys")]:
            unknown = path.replace(leader.path, f"/tasks/{'A' * 43}")
            with pytest.raises(PeerRefusedError):
                peer().send(method, unknown, b"{}", "application/json")

    @pytest.mark.parametrize(
        ("environ", "status"),
        [
            ({"HTTP_TRANSFER_ENCODING": "chunked"}, 411),
            ({"CONTENT_LENGTH": str(2**40)}, 413),
            ({"wsgi.input": BrokenInput()}, 408),
        ],
    )
    def test_refusal_before_the_signature_ends_nothing(self, environ: dict[str, Any], status: int) -> None:
        """What the network did to a request says nothing of the request, whoever signs the answer."""
        leader = registered()
        reports = leader.reports(3)
        body = leader.request(reports)
        client = peer(transport=partial(transport, **environ))
        with pytest.raises(PeerUnavailableError, match=f"status {status}"):
            client.post(f"{leader.path}/aggregation_jobs", body, media_type(AggregationJobInitReq))
        assert not BatchBucket.objects.exists()
        assert leader.finish(reports, leader.send_job(body).body) == ["ok"] * 3

    @pytest.mark.parametrize(
        ("error", "said"),
        [(RuntimeError, "The fault is on our side"), (OperationalError, r"status 503.*Ask again")],
    )
    def test_fault_of_ours_is_signed_and_says_that_it_may_be_asked_again(
        self, monkeypatch: pytest.MonkeyPatch, error: type[Exception], said: str
    ) -> None:
        leader = registered()

        def fail(**arguments: Any) -> None:
            raise error

        monkeypatch.setattr(views, "aggregation_job_create", fail)
        with pytest.raises(PeerUnavailableError, match=said):
            leader.send_job(leader.request(leader.reports(1)))
