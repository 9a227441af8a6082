"""Problems with which installations refuse requests of each other: DAP's errors, by their tokens."""

from typing import Any

from panprivacy.protocols.dap.media import PROBLEMS, problem_type
from web.problems import Problem

STATUSES = {
    "unrecognizedTask": 404,
    "unrecognizedAggregationJob": 404,
    "batchOverlap": 409,
    "batchMismatch": 409,
}
"""HTTP status of those errors of DAP that are not a plain 400."""


def dap_problem(token: str, detail: str, **members: Any) -> Problem:
    """An error of DAP, by its token, e.g. `invalidMessage`. If the draft has none, a plain `Problem` is used:
    DAP's namespace is not ours to extend."""
    return Problem(problem_type(token), PROBLEMS[token], STATUSES.get(token, 400), detail, **members)


def refused(detail: str) -> Problem:
    """What is sent is not what it must be; `detail` gives the reason."""
    return dap_problem("invalidMessage", detail)


def conflict(detail: str) -> Problem:
    """There is another one already; `detail` names what differs, or is over."""
    return Problem("conflict", "Another one exists already", 409, detail)
