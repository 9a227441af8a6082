"""Operations of a generated client, asked for in one line of JSON each, and answered in one."""

import json
import sys
from collections.abc import Callable
from typing import Any

Operation = Callable[..., dict[str, Any]]


class RefusedError(Exception):
    """The site refuses, in the words of its problem document."""


def answer_all(*operations: Operation) -> None:
    """Until the input ends."""
    by_name = {operation.__name__: operation for operation in operations}
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = by_name[asked.pop("operation")](**asked)
        except RefusedError as refused:
            answer = {"error": str(refused)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
