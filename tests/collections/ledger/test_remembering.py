"""A worker computes the numbers of a book that has changed, so that pages find them."""

from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from ledger import composed, selectors, tasks
from ledger.budget import Budget
from ledger.operations import population_change, population_create
from ledger.remembering import books_behind, books_compute
from ledger.selectors import population_named
from tests.factories import published_recipe
from tests.page_text import page_text

pytestmark = pytest.mark.django_db

RECIPE = {"population": "clinics", "cohort_size": 20}
"""Composing costs time that grows with the cohort."""


def spent_twice() -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=2.0, delta=1e-6), actor=None)
    published_recipe(epsilon=0.3, **RECIPE)
    published_recipe(epsilon=0.4, **RECIPE)
    caches["composed"].clear()


def names() -> list[str]:
    return [population.name for population in books_behind()]


def test_page_computes_nothing_once_a_worker_has(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    spent_twice()
    monkeypatch.setattr(selectors, "PAGE_SECONDS", -1.0)
    page = page_text(client.get("/populations/clinics/"))
    assert "not computed yet" in page
    assert "Some numbers are still being computed." in page
    books_compute()

    def refused(*_: Any) -> float:
        raise AssertionError("a page computed")

    monkeypatch.setattr(composed, "_epsilon", refused)
    for path in ("/populations/clinics/", "/populations/", "/"):
        page = page_text(client.get(path))
        assert "not computed yet" not in page
        assert "still being computed" not in page


def test_book_is_behind_after_each_line_and_for_another_budget_only() -> None:
    assert names() == []
    spent_twice()
    assert names() == ["clinics"]
    books_compute()
    assert names() == []
    published_recipe(epsilon=0.5, **RECIPE)
    assert names() == ["clinics"]
    books_compute()
    population_change(
        population=population_named("clinics"),
        description="",
        budget=Budget(epsilon=3.0, delta=1e-6),
        actor=None,
    )
    assert names() == ["clinics"]
    books_compute()
    assert names() == []


def test_task_that_runs_out_of_time_leaves_the_book_to_the_next() -> None:
    spent_twice()
    books_compute(seconds=-1.0)
    assert names() == ["clinics"]
    books_compute()
    assert names() == []


def test_only_one_is_asked_to_compute_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(tasks.compute_books, "delay", lambda claim: asked.append(claim))
    tasks.advance_books()
    assert asked == []
    spent_twice()
    tasks.advance_books()
    tasks.advance_books()
    assert len(asked) == 1
    tasks.compute_books.apply(kwargs={"claim": asked[0]}).get()
    tasks.advance_books()
    assert len(asked) == 1
    published_recipe(epsilon=0.5, **RECIPE)
    tasks.advance_books()
    assert len(asked) == 2


def test_page_computes_nothing_of_a_long_book(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    spent_twice()
    monkeypatch.setattr(selectors, "SHORT_BOOK", 1)
    assert "not computed yet" in page_text(client.get("/populations/clinics/"))
    monkeypatch.setattr(selectors, "SHORT_BOOK", 2)
    assert "not computed yet" not in page_text(client.get("/populations/clinics/"))
