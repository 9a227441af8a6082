"""The identifier of a task as people write it: in base64url, as in DAP's addresses, or in hexadecimal, as
recipes and the log have it. Commands take both, and print both."""

from collections.abc import Sequence

from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import TASK_ID_BYTES


def task_id_of(text: str) -> bytes:
    """The identifier, 32 bytes, from either spelling. Raises ValueError for anything else."""
    if len(text) == 2 * TASK_ID_BYTES:
        return bytes.fromhex(text)
    return base64_text.decode_url(text, TASK_ID_BYTES)


def readable_arguments(arguments: Sequence[str]) -> list[str]:
    """Arguments of a command line, in which an identifier that begins with "-" would be read as an option: it
    is put in hexadecimal."""
    return [_in_hexadecimal(argument) if argument.startswith("-") else argument for argument in arguments]


def _in_hexadecimal(argument: str) -> str:
    try:
        return task_id_of(argument).hex()
    except ValueError:
        return argument
