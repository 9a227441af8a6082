"""No sequence of crashes, retries and races gives a device a second token of a recipe.

`make test-all` runs 10,000, `.ci/run` 300 in all, and `--hypothesis-profile anew` 10,000 others.
"""

import secrets
from functools import lru_cache

import hypothesis
import pytest

from panprivacy.protocols.oblivious_prf import evaluation
from tests.collections.tokens.attester.scene import Course, forget_everything

pytestmark = pytest.mark.django_db

SHORT_RUN = 30
SUITE_EXAMPLES = 25
"""Of the profile `suite` (tests/conftest.py)."""


@pytest.fixture(autouse=True)
def _hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing a pseudonym to the curve takes most of the time, and depends on nothing else."""
    monkeypatch.setattr(evaluation, "hash_to_curve", lru_cache(maxsize=8)(evaluation.hash_to_curve))


def run(seeds: range) -> None:
    for seed in seeds:
        Course(seed, sharing=seed % 4 == 3).run()
        forget_everything()


def test_no_short_run_of_random_sequences_gives_a_second_token() -> None:
    run(range(SHORT_RUN))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_no_random_sequence_gives_a_second_token(part: int) -> None:
    profile = hypothesis.settings.default
    sequences = 300 - SHORT_RUN if profile.max_examples == SUITE_EXAMPLES else 10_000
    first = SHORT_RUN + part * sequences // 10 if profile.derandomize else secrets.randbits(48)
    run(range(first, first + sequences // 10))
