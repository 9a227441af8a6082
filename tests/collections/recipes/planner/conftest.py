import json
from collections.abc import Iterator

import pytest

from panprivacy.planning import curves
from panprivacy.planning.plan import Depth, Plan, Question, plans_of

PLANS: dict[tuple[str, Depth], list[Plan]] = {}
"""What was computed here: several tests ask the same."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The long questions that were sent to workers, by their keys. Previews are answered at once."""
    # Here, because this file is read before Django is set up.
    from tests.collections.storage.answers.scene import workers_answer

    return workers_answer(monkeypatch, previews=True)


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves that are computed in no time."""
    from recipes.planner import operations

    monkeypatch.setattr(curves, "POINTS", 3)
    monkeypatch.setattr(curves, "AXIS_POINTS", 2)

    def remembered(question: Question, depth: Depth) -> Iterator[Plan]:
        key = (json.dumps(question.as_dict()), depth)
        if key not in PLANS:
            PLANS[key] = list(plans_of(question, depth))
        yield from PLANS[key]

    monkeypatch.setattr(operations, "plans_of", remembered)
