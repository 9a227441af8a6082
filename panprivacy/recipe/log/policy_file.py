"""The file with the policy of a log, and the time by which its witnesses may be ahead."""

from datetime import timedelta
from pathlib import Path

from panprivacy.protocols.transparency.policy import Policy, PolicyError

EARLY = timedelta(days=1)
"""How far a witness's clock may be ahead of this one."""


def read_policy(path: Path) -> Policy:
    """The policy in a file (C2SP, tlog-policy).

    Raises:
        PolicyError: it is none; the message names the file and the line.
        OSError: the file cannot be read.
    """
    try:
        return Policy.parse(path.read_bytes())
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from error
