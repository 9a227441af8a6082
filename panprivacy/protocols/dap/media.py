"""Media types and problem types (DAP draft 18, sections 3.6 and 9)."""

from collections.abc import Mapping
from email.message import EmailMessage

from panprivacy.formats.tls_messages import Message
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
)
from panprivacy.protocols.dap.collection import (
    AggregateShare,
    AggregateShareReq,
    CollectionJobReq,
    CollectionJobResp,
)
from panprivacy.protocols.dap.upload import HpkeConfigList, UploadErrors, UploadRequest

MEDIA_TYPE = "application/ppm-dap"

MESSAGE_NAMES: Mapping[type[Message], str] = {
    HpkeConfigList: "hpke-config-list",
    UploadRequest: "upload-req",
    UploadErrors: "upload-errors",
    AggregationJobInitReq: "aggregation-job-init-req",
    AggregationJobContinueReq: "aggregation-job-continue-req",
    AggregationJobResp: "aggregation-job-resp",
    AggregateShareReq: "aggregate-share-req",
    AggregateShare: "aggregate-share",
    CollectionJobReq: "collection-job-req",
    CollectionJobResp: "collection-job-resp",
}
"""Message → value of the media type's `message` parameter; only these travel on their own."""

PROBLEM_PREFIX = "urn:ietf:params:ppm:dap:error:"

PROBLEMS: Mapping[str, str] = {
    "invalidMessage": "A message could not be parsed or was otherwise invalid.",
    "unrecognizedTask": "There is no task with this identifier.",
    "unrecognizedAggregationJob": "There is no aggregation job with this identifier.",
    "batchInvalid": "The query does not name a batch that can be collected.",
    "invalidBatchSize": "The number of reports in the batch is not allowed.",
    "invalidAggregationParameter": "The aggregation parameter is not valid.",
    "batchMismatch": "The aggregators have different reports in the batch.",
    "stepMismatch": "The aggregators are at different steps of the aggregation job.",
    "batchOverlap": "Reports of the batch have been collected in another.",
    "unsupportedExtension": "An extension is not known.",
    "invalidExtension": "Extensions are out of order, or one is malformed.",
}
"""Every error token of the draft, and its title in a problem document."""


def media_type(message: type[Message]) -> str:
    """The content type of a message, e.g. `application/ppm-dap;message=upload-req`."""
    return f"{MEDIA_TYPE};message={MESSAGE_NAMES[message]}"


def is_media_type(content_type: str, message: type[Message]) -> bool:
    """Whether a Content-Type header names `message`, whatever other parameters it has."""
    # Over an asterisk at a parameter's end the library's parser fails; no media type of ours has one.
    if not content_type.isprintable() or "*" in content_type:
        return False
    header = EmailMessage()
    header["content-type"] = content_type
    return (
        header.get_content_type() == MEDIA_TYPE
        and header["content-type"].params.get("message") == MESSAGE_NAMES[message]
    )


def problem_type(token: str) -> str:
    """The `type` of a problem document for one of `PROBLEMS`; KeyError for any other token, since the
    namespace is not ours to extend."""
    _ = PROBLEMS[token]
    return PROBLEM_PREFIX + token


def problem_token(type_: object) -> str | None:
    """Inverse of `problem_type`; None for anything else."""
    if not isinstance(type_, str) or not type_.startswith(PROBLEM_PREFIX):
        return None
    token = type_.removeprefix(PROBLEM_PREFIX)
    return token if token in PROBLEMS else None
