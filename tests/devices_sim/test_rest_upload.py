import json

import pytest

from devices_sim.rest_upload import RestUpload
from devices_sim.transport import (
    BatchAnswer,
    Delivery,
    HttpTransport,
    Rejection,
    ReportRejectedError,
    TransportError,
    WireReport,
)
from tests.devices_sim.in_process import InProcessTransport
from tests.devices_sim.server import listening


@pytest.fixture(params=["http", "in-process"])
def upload(request, server):
    if request.param == "in-process":
        yield RestUpload(server.recipe.identifier, server.transport())
        return
    with listening(server) as url, HttpTransport(url) as transport:
        yield RestUpload(server.recipe.identifier, transport)


def test_submit_twice_counts_once(upload, server, reports):
    assert upload.submit(reports[0]) is Delivery.ACCEPTED
    assert upload.submit(reports[0]) is Delivery.DUPLICATE
    assert server.reports == {reports[0].nonce: reports[0].ciphertexts}


def test_submit_rejected_report_raises_with_the_reason(upload, server, reports):
    with pytest.raises(ReportRejectedError) as caught:
        upload.submit(WireReport(b"short", reports[0].ciphertexts))
    assert caught.value.problem["reason"] == "wrong_nonce_size"
    assert caught.value.status == 422


def test_submit_batch_tells_accepted_from_rejected(upload, server, reports):
    batch = [reports[0], WireReport(reports[1].nonce, (b"?",)), reports[0], reports[2]]
    answer = upload.submit_batch(batch)
    assert answer == BatchAnswer(
        2, (Rejection(1, "invalid_ciphertext", ""), Rejection(2, "duplicate_nonce", ""))
    )


def test_submit_batch_closed_recipe_raises(upload, server, reports):
    server.closed = True
    with pytest.raises(TransportError, match="closed") as caught:
        upload.submit_batch(reports)
    assert caught.value.problem["type"] == "/problems/recipe-not-open"


@pytest.mark.parametrize("accepted", [4, 6])
def test_submit_batch_answer_that_does_not_add_up_is_an_error(server, reports, accepted):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps({"accepted": accepted, "rejected": []}).encode()]

    with pytest.raises(TransportError, match=f"{accepted} reports of 5"):
        RestUpload(server.recipe.identifier, InProcessTransport(application)).submit_batch(reports)
