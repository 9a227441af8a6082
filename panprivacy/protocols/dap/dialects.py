"""How servers of a task speak: DAP draft 18 as written, or as Janus speaks it. All differences of messages
are here.

Callers hold messages of draft 18 only. A dialect translates them where they are sent and received, gives the
method and path of a request, and names the report errors that the other side knows. Sealed bytes are the same
in every dialect.

Janus (main at 4ab28a36, which it calls DAP-18) keeps three things of other drafts: the requester chooses the
identifiers of jobs and shares (draft-ietf-ppm-dap pull request 781), a `PartialBatchSelector` stands for the
batch extension (762), and lists of reports have a length. Requests bear a token, and answers no signature.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import (
    UINT8,
    UINT16,
    Code,
    InvalidMessageError,
    Message,
    Opaque,
    Reader,
    Vector,
)
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
    leader_selected_batch_id_extension,
)
from panprivacy.protocols.dap.basics import BatchMode, Extension, ReportError

AGGREGATION_JOBS = "aggregation_jobs"
AGGREGATE_SHARES = "aggregate_shares"
COLLECTION_JOBS = "collection_jobs"

Translation = Callable[[bytes], bytes]
"""An encoded message → the same message in another dialect; InvalidMessageError if it is none."""


@dataclass(frozen=True)
class Dialect:
    """What two servers agree on besides the messages.

    Attributes:
        name: as settings, task files and tables have it.
        is_signed: whether requests and answers are signed (RFC 9421), and tasks registered over the network.
            Otherwise requests bear a token, and operators exchange a file.
        names_resources: whether the requester chooses the identifiers of what it makes, with PUT.
        unknown_errors: report errors that the other side does not know → the one that stands for it.
        sent, received: message → how its encoding in draft 18 becomes the dialect's, and the inverse; other
            messages are the same in both.
    """

    name: str
    is_signed: bool
    names_resources: bool
    unknown_errors: Mapping[ReportError, ReportError] = field(default_factory=dict)
    sent: Mapping[type[Message], Translation] = field(default_factory=dict)
    received: Mapping[type[Message], Translation] = field(default_factory=dict)

    def write(self, message: type[Message], encoded: bytes) -> bytes:
        """What is sent, of an encoding in draft 18."""
        translate = self.sent.get(message)
        return encoded if translate is None else translate(encoded)

    def read(self, message: type[Message], content: bytes) -> bytes:
        """Inverse of `write`: the encoding in draft 18 of what was received, itself unchecked.

        Raises:
            InvalidMessageError: it is not the dialect's form of this message.
        """
        translate = self.received.get(message)
        return content if translate is None else translate(content)

    def creation(self, task_id: bytes, resource: str, identifier: bytes) -> tuple[str, str]:
        """Method, and path below the base address, of the request that makes a resource.

        Args:
            resource: one of the lists of a task, e.g. `AGGREGATION_JOBS`.
            identifier: 16 bytes, the same for every repetition.
        """
        path = f"/tasks/{base64_text.encode_url(task_id)}/{resource}"
        if not self.names_resources:
            return "POST", path
        return "PUT", f"{path}/{base64_text.encode_url(identifier)}"

    @property
    def list_methods(self) -> tuple[str, ...]:
        """HTTP methods of a list of a task."""
        return () if self.names_resources else ("POST",)

    @property
    def item_methods(self) -> tuple[str, ...]:
        """HTTP methods of an item of such a list."""
        return ("PUT", "GET", "DELETE") if self.names_resources else ("GET", "DELETE")

    def known_error(self, error: ReportError) -> ReportError:
        """The report error that the other side knows for `error`."""
        return self.unknown_errors.get(error, error)


# Janus's messages. Reports in them are left as they are: their encoding is the same.


@dataclass(frozen=True)
class _InitHead(Message):
    """What precedes the reports of an AggregationJobInitReq in draft 18."""

    verification_key_id: Annotated[int, UINT8]
    agg_param: Annotated[bytes, Opaque(4)]
    extensions: Annotated[tuple[Extension, ...], Vector(Extension, 2)]


@dataclass(frozen=True)
class _JanusInit(Message):
    verification_key_id: Annotated[int, UINT8]
    agg_param: Annotated[bytes, Opaque(4)]
    batch_mode: Annotated[BatchMode, Code(BatchMode)]
    batch_config: Annotated[bytes, Opaque(2)]
    verify_inits: Annotated[bytes, Opaque(4)]

    def check(self) -> None:
        if self.batch_mode is BatchMode.TIME_INTERVAL and self.batch_config:
            raise self.refusal("batch_config", "must be empty for batch mode time_interval")


@dataclass(frozen=True)
class _JanusReports(Message):
    verify_resps: Annotated[bytes, Opaque(4)]


@dataclass(frozen=True)
class _JanusContinue(Message):
    step: Annotated[int, UINT16]
    verify_continues: Annotated[bytes, Opaque(4)]


def _init_to_janus(encoded: bytes) -> bytes:
    reader = Reader(encoded, 0, len(encoded))
    head = _InitHead.read(reader)
    inits = reader.take(reader.remaining)
    batch_id = AggregationJobInitReq(0, b"", head.extensions, ()).leader_selected_batch_id()
    mode = BatchMode.TIME_INTERVAL if batch_id is None else BatchMode.LEADER_SELECTED
    return _JanusInit(head.verification_key_id, head.agg_param, mode, batch_id or b"", inits).encode()


def _init_from_janus(content: bytes) -> bytes:
    request = _JanusInit.decode(content)
    extensions: tuple[Extension, ...] = ()
    if request.batch_mode is BatchMode.LEADER_SELECTED:
        extensions = (leader_selected_batch_id_extension(request.batch_config),)
    head = _InitHead(request.verification_key_id, request.agg_param, extensions)
    return head.encode() + request.verify_inits


def _continue_to_janus(encoded: bytes) -> bytes:
    width = UINT16.width
    if len(encoded) < width:
        raise InvalidMessageError(AggregationJobContinueReq.__name__, "step", "is cut short")
    return _JanusContinue(int.from_bytes(encoded[:width], "big"), encoded[width:]).encode()


def _continue_from_janus(content: bytes) -> bytes:
    request = _JanusContinue.decode(content)
    return UINT16.write(request.step) + request.verify_continues


DRAFT_18 = Dialect(name="draft-18", is_signed=True, names_resources=False)
JANUS = Dialect(
    name="janus",
    is_signed=False,
    names_resources=True,
    unknown_errors={ReportError.OUTDATED_CONFIG: ReportError.HPKE_UNKNOWN_CONFIG_ID},
    sent={
        AggregationJobInitReq: _init_to_janus,
        AggregationJobContinueReq: _continue_to_janus,
        AggregationJobResp: lambda encoded: _JanusReports(encoded).encode(),
    },
    received={
        AggregationJobInitReq: _init_from_janus,
        AggregationJobContinueReq: _continue_from_janus,
        AggregationJobResp: lambda content: _JanusReports.decode(content).verify_resps,
    },
)
DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (DRAFT_18, JANUS)}
