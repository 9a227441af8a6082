"""From sealed report shares to what a verifier takes: decryption and every check of DAP 18,
sections 4.4.1.3 and 4.4.1.4, the same on both sides.
"""

from collections.abc import Sequence, Set
from datetime import datetime, timedelta

from dap.admission import public_extensions_of
from dap.hpke_keys import hpke_private_key
from dap.models import Side, Task
from dap.operations import ROLES, configuration_of
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.aggregation import ReportShare
from panprivacy.protocols.dap.basics import Extension, ReportError, Role
from panprivacy.protocols.dap.hpke import Recipient, open_input_share
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import InputShareAad, ReportMetadata
from panprivacy.protocols.hpke import HpkeOpenError
from panprivacy.protocols.prio3.interface import InvalidShareError, Rejected, ReportInput
from storage.rotating_keys import NoKeyError

TIME_LEEWAY = timedelta(minutes=5)
"""How far ahead of our clock the time of a report may be."""

PRIVATE_EXTENSIONS: frozenset[int] = frozenset()
"""Types of private report extensions that we know: the draft defines none, and a token is public."""


def input_shares_open(
    *, task: Task, side: Side, reports: Sequence[ReportShare], now: datetime
) -> list[ReportInput | ReportError]:
    """What is in the sealed shares that are meant for `side`, or why a report is rejected. Tokens are not
    checked here: `dap.admission` checks them.

    The share opens only under exactly the task's configuration: who sealed it knew the same
    cohort size, VDAF and addresses.

    Args:
        side: whose shares these are, ours.

    Returns:
        One result for each report, in their order.
    """
    configuration = configuration_of(task)
    known = public_extensions_of(task)
    task_id = bytes(task.task_id)
    keys = _Keys()
    return [
        metadata_error(configuration, report.report_metadata, now, known)
        or _open(keys, ROLES[side], task_id, configuration, report)
        for report in reports
    ]


def metadata_error(
    configuration: TaskConfiguration, metadata: ReportMetadata, now: datetime, known: Set[int]
) -> ReportError | None:
    """Why a report is rejected whatever is sealed in it; None if there is no reason.

    Args:
        known: types of public extensions that it may have.
    """
    latest = int((now + TIME_LEEWAY).timestamp()) // configuration.time_precision
    interval = configuration.task_interval
    if interval is not None and metadata.time < interval.start:
        return ReportError.TASK_NOT_STARTED
    if interval is not None and metadata.time >= interval.end:
        return ReportError.TASK_EXPIRED
    if metadata.time > latest:
        return ReportError.REPORT_TOO_EARLY
    if not _are_known_and_ascending(metadata.public_extensions, known):
        return ReportError.INVALID_MESSAGE
    return None


def _open(
    keys: "_Keys", role: Role, task_id: bytes, configuration: TaskConfiguration, report: ReportShare
) -> ReportInput | ReportError:
    metadata = report.report_metadata
    try:
        share = open_input_share(
            keys.named(report.encrypted_input_share.config_id),
            role,
            InputShareAad(task_id, configuration, metadata, report.public_share),
            report.encrypted_input_share,
        )
    except NoKeyError:
        return ReportError.HPKE_UNKNOWN_CONFIG_ID
    except HpkeOpenError:
        return ReportError.HPKE_DECRYPT_ERROR
    except InvalidMessageError:
        return ReportError.INVALID_MESSAGE
    types = {extension.extension_type for extension in metadata.public_extensions}
    if not _are_known_and_ascending(share.private_extensions, PRIVATE_EXTENSIONS) or any(
        extension.extension_type in types for extension in share.private_extensions
    ):
        return ReportError.INVALID_MESSAGE
    return ReportInput(metadata.report_id, report.public_share, share.payload)


def _are_known_and_ascending(extensions: Sequence[Extension], known: Set[int]) -> bool:
    types = [extension.extension_type for extension in extensions]
    return types == sorted(set(types)) and known >= set(types)


def report_error_of(rejected: Rejected) -> ReportError:
    """Why a report is rejected, as DAP has it."""
    if isinstance(rejected, InvalidShareError):
        return ReportError.INVALID_MESSAGE
    return ReportError.VDAF_VERIFY_ERROR


class _Keys:
    """Each key of a batch of reports, read, unsealed and loaded once."""

    def __init__(self) -> None:
        self._found: dict[int, Recipient] = {}

    def named(self, config_id: int) -> Recipient:
        if config_id not in self._found:
            self._found[config_id] = Recipient(*hpke_private_key(config_id=config_id))
        return self._found[config_id]
