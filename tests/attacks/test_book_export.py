"""Strangers ask for the export of a population's book again and again.

Each event is written out and hashed a fixed number of times, and a worker computes the numbers, once.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils import timezone

from ledger import composition
from ledger.models import Population, Spending
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from tests.collections.storage.answers.scene import workers_answer


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    caches["composed"].clear()
    yield
    caches["composed"].clear()


def event(n: int) -> dict[str, Any]:
    return dict(RandomizedResponseSum(n=n, epsilon0=1.0).as_dict())


def book(lines: int) -> None:
    """So many lines of everyone's book; every third one takes the one before it back."""
    population = Population.objects.get(name="everyone")
    before: Spending | None = None
    for line in range(lines):
        if line % 3 == 2:
            Spending.objects.create(population=population, returns=before, at=timezone.now())
            continue
        cost = event(1_000 + line)
        before = Spending.objects.create(
            population=population,
            recipe=f"{line:064d}",
            event=cost,
            event_if_half_colludes=cost,
            at=timezone.now(),
        )


@pytest.mark.django_db
def test_an_export_writes_out_every_event_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    done: Counter[str] = Counter()
    canonical = composition._canonical

    def counting(one: Any) -> str:
        done["written out"] += 1
        return canonical(one)

    def composing(*_: Any) -> float:
        done["composed"] += 1
        return 1.0

    monkeypatch.setattr(composition, "_canonical", counting)
    monkeypatch.setattr(composition, "_epsilon", composing)
    lines = 150
    book(lines)
    first = Client().get("/populations/everyone/book.json").json()
    assert first["complete"]
    assert len(first["spendings"]) == lines
    # Some 75 for each line before.
    assert done["written out"] <= 6 * lines
    # What every line came to, each event alone, and the book as it stands; nothing twice.
    assert done["composed"] <= 2 * lines + 2
    before = done["composed"]
    assert Client().get("/populations/everyone/book.json").json() == first
    assert done["composed"] == before


@pytest.mark.django_db
def test_lines_that_are_taken_back_count_no_more_in_those_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of ε, a number that differs for all of them, and by δ."""
    monkeypatch.setattr(composition, "_epsilon", lambda events, delta: sum(one.n for one in events) + delta)
    book(6)
    lines = Client().get("/populations/everyone/book.json").json()["spendings"]
    sizes = [1_000 + line for line in (0, 1, 3, 4)]
    kept = [[0], [0, 1], [0], [0, 2], [0, 2, 3], [0, 2]]
    for line, numbers in zip(lines, kept, strict=True):
        assert line["epsilon_composed"] == sum(sizes[n] for n in numbers) + 1e-6
    assert [line["kind"] for line in lines] == ["spent", "spent", "returned"] * 2


@pytest.mark.django_db
def test_exports_compute_nothing_in_the_web_process(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = workers_answer(monkeypatch)
    monkeypatch.setattr(composition, "_epsilon", lambda *_: pytest.fail("computed in a request"))
    book(6)
    for _ in range(20):
        assert not Client().get("/populations/everyone/book.json").json()["complete"]
    assert len(sent) == 2, "the balance and the lines, once"
