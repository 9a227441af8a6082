import json

import pytest

from panprivacy.device.rest_upload import RestUpload
from panprivacy.device.transport import (
    BatchAnswer,
    Delivery,
    Rejection,
    TransportError,
    WireReport,
)
from tests.panprivacy.device.in_process import InProcessTransport


@pytest.fixture
def upload(server):
    return RestUpload(server.recipe.identifier, server.transport())


def test_submit_twice_counts_once(upload, server, reports):
    assert upload.submit(reports[0]) is Delivery.ACCEPTED
    assert upload.submit(reports[0]) is Delivery.DUPLICATE
    assert server.reports == {reports[0].nonce: reports[0].ciphertexts}


def test_submit_batch_tells_accepted_from_rejected(upload, server, reports):
    batch = [reports[0], WireReport(reports[1].nonce, (b"?",)), reports[0], reports[2]]
    answer = upload.submit_batch(batch)
    assert answer == BatchAnswer(
        2, (Rejection(1, "invalid_ciphertext", ""), Rejection(2, "duplicate_nonce", ""))
    )


@pytest.mark.parametrize("accepted", [4, 6])
def test_submit_batch_answer_that_does_not_add_up_is_an_error(server, reports, accepted):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps({"accepted": accepted, "rejected": []}).encode()]

    with pytest.raises(TransportError, match=f"{accepted} reports of 5"):
        RestUpload(server.recipe.identifier, InProcessTransport(application)).submit_batch(reports)
