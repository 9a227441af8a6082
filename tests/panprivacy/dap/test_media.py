import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panprivacy.dap.aggregation import AggregationJobInitReq
from panprivacy.dap.media import (
    MESSAGE_NAMES,
    PROBLEMS,
    is_media_type,
    media_type,
    problem_token,
    problem_type,
)
from panprivacy.dap.upload import UploadErrors, UploadRequest


def test_media_type_is_that_of_the_draft():
    assert media_type(AggregationJobInitReq) == "application/ppm-dap;message=aggregation-job-init-req"
    assert len(set(MESSAGE_NAMES.values())) == len(MESSAGE_NAMES) == 10


@pytest.mark.parametrize(
    "content_type",
    [
        "application/ppm-dap;message=upload-req",
        "application/ppm-dap; message=upload-req",
        'Application/PPM-DAP; Message="upload-req"; version=18',
        "application/ppm-dap;version=18;message=upload-req",
    ],
)
def test_is_media_type_takes_every_spelling(content_type):
    assert is_media_type(content_type, UploadRequest)
    assert not is_media_type(content_type, UploadErrors)


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/ppm-dap",
        "application/json;message=upload-req",
        "application/ppm-dap;message=upload-request",
        "application/ppm-dap;message=UPLOAD-REQ",
        "application/dap-report",
        "application/ppm-dap;message=upload-req\nX: y",
    ],
)
def test_is_media_type_of_anything_else_is_false(content_type):
    assert not is_media_type(content_type, UploadRequest)


@settings(max_examples=40)
@given(
    st.one_of(
        st.text(),
        st.text(
            st.sampled_from("application/ppm-dap;message=upload-req\"'*%\\ ()<>@,?[]:\r\n\0é"), max_size=60
        ),
    )
)
@example("application/ppm-dap;message*")
def test_is_media_type_of_any_text_raises_nothing(content_type):
    assert is_media_type(content_type, UploadRequest) in {True, False}


def test_problem_type_and_token_are_inverse_on_the_drafts_table():
    for token in PROBLEMS:
        assert problem_token(problem_type(token)) == token
    assert problem_type("batchOverlap") == "urn:ietf:params:ppm:dap:error:batchOverlap"


def test_problem_type_of_a_token_that_is_not_the_drafts_is_refused():
    with pytest.raises(KeyError):
        problem_type("reportRejected")


@pytest.mark.parametrize(
    "type_", [None, 7, "about:blank", "urn:ietf:params:ppm:dap:error:new", "batchOverlap"]
)
def test_problem_token_of_anything_else_is_none(type_):
    assert problem_token(type_) is None
