"""The sentence of what a budget still lets through, in every state of a balance."""

from types import SimpleNamespace
from typing import Any

import pytest

from ledger.answers import LIKE_THE_LAST
from pages.populations.sentences import left_sentence

BUDGET = object()


def balance(**members: Any) -> Any:
    usual = {"events": [1], "readable": True, "budget": BUDGET, "overspent": False, "more_like_the_last": 7}
    return SimpleNamespace(**{**usual, **members})


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"events": []}, "Nothing is spent yet."),
        ({"readable": False}, "unknown and nothing can be published."),
        ({"readable": False, "budget": None}, "what is spent is unknown."),
        ({"budget": None}, "nothing is refused."),
        ({"overspent": True}, "nothing can be published."),
        ({"more_like_the_last": None}, "not computed yet."),
        ({"more_like_the_last": 0}, "No more recipes like the last one fit."),
        ({"more_like_the_last": 1}, "About 1 recipe like the last one is left."),
        ({"more_like_the_last": LIKE_THE_LAST}, "At least 1,000 recipes like the last one are left."),
        ({}, "About 7 recipes like the last one are left."),
    ],
)
def test_each_state_is_said(members: dict[str, Any], sentence: str) -> None:
    assert left_sentence(balance(**members)).endswith(sentence)
