import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panprivacy.protocols.dap.aggregation import AggregationJobInitReq
from panprivacy.protocols.dap.media import (
    MESSAGE_NAMES,
    PROBLEMS,
    is_media_type,
    media_type,
    problem_token,
    problem_type,
)
from panprivacy.protocols.dap.upload import UploadErrors, UploadRequest


def test_media_type_is_that_of_the_draft():
    assert media_type(AggregationJobInitReq) == "application/ppm-dap;message=aggregation-job-init-req"
    assert len(set(MESSAGE_NAMES.values())) == len(MESSAGE_NAMES) == 10


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        ("application/ppm-dap;message=upload-req", True),
        ("application/ppm-dap; message=upload-req", True),
        ('Application/PPM-DAP; Message="upload-req"; version=18', True),
        ("application/ppm-dap;version=18;message=upload-req", True),
        ("", False),
        ("application/ppm-dap", False),
        ("application/json;message=upload-req", False),
        ("application/ppm-dap;message=UPLOAD-REQ", False),
        ("application/ppm-dap;message=upload-req\nX: y", False),
    ],
)
def test_is_media_type_takes_every_spelling_of_its_message(content_type, taken):
    assert is_media_type(content_type, UploadRequest) is taken
    assert not is_media_type(content_type, UploadErrors)


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
    for other in (None, 7, "about:blank", "urn:ietf:params:ppm:dap:error:new", "batchOverlap"):
        assert problem_token(other) is None
