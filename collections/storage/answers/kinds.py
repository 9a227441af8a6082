"""What can be asked, and which function answers it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

Content = Mapping[str, Any]
"""What is asked, or an answer: plain values for JSON, infinity among them."""

Function = Callable[[Any], Iterator[Content]]
"""Takes what is asked, and yields the answer: parts of it first, each with all of the one before it, or the
whole at once. FieldError is an answer too: a refusal."""


class Lane(Enum):
    """Which workers answer.

    Attributes:
        task: by its name, because tasks import what asks.
        seconds: what a worker may take for one answer.
        start_time: for which a message may wait for a worker: longer than two answers before it, as a worker
            takes a message ahead. It then expires, and is sent again once someone asks.
    """

    PREVIEWS = "storage.answers.tasks.answer_preview", 20
    """People wait while they type: a queue and a child of its own, so that nothing else delays them."""

    QUICK_PLANS = "storage.answers.tasks.answer_quick_plan", 2
    """Among previews, and so short that a flood of them hardly delays these: anyone may ask."""

    LONG = "storage.answers.tasks.answer_question", 170
    """What publishing needs, and nothing else: neither what anyone may ask, nor what follows a refusal."""

    PLANS = "storage.answers.tasks.answer_plan", 170
    """Anyone may ask, or publishing does not wait for it: they have a worker of their own."""

    def __init__(self, task: str, seconds: int) -> None:
        self.task = task
        self.seconds = seconds
        self.start_time = timedelta(seconds=2 * seconds + 40)


@dataclass(frozen=True)
class Kind:
    """One kind of question.

    Attributes:
        name: in the rows.
        function: computes the answer from what is asked, and from stored rows that it names and that never
            change.
        lane: which workers answer it.
        most: questions of this kind that may wait or be computed at a time; others are turned away.
        urgent: whether its messages are taken before those of kinds that are not. Only what anyone may ask
            is not: it must not keep analysts from publishing.
        version: raise it when the fields of an answer change: rows of other versions are not found.
    """

    name: str
    function: Function
    lane: Lane = Lane.LONG
    most: int = 16
    urgent: bool = True
    version: int = 1


KINDS: dict[str, Kind] = {}
"""By their names."""


def declared(
    name: str,
    function: Function,
    lane: Lane = Lane.LONG,
    most: int = 16,
    *,
    urgent: bool = True,
    version: int = 1,
) -> Kind:
    """A kind of question that workers know; as in `Kind`."""
    KINDS[name] = Kind(name, function, lane, most, urgent, version)
    return KINDS[name]
