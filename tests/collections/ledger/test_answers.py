"""Pages show a book's numbers once a worker has computed them, and never those of another state of it."""

import pytest
from django.test import Client

from ledger.books import Book
from ledger.budget import Budget
from ledger.composition import composed_epsilon
from ledger.operations import population_change, population_create, spending_return
from ledger.selectors import balance_of, population_named, unreturned_events
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import published_recipe
from tests.page_text import page_text

pytestmark = pytest.mark.django_db

RECIPE = {"population": "clinics", "cohort_size": 20}
"""Composing costs time that grows with the cohort."""


def spent_twice() -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=2.0, delta=1e-6), actor=None)
    published_recipe(epsilon=0.3, **RECIPE)
    published_recipe(epsilon=0.4, **RECIPE)


def test_page_shows_the_numbers_that_a_worker_computed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent_twice()
    sent = workers_answer(monkeypatch)
    page = page_text(client.get("/populations/clinics/"))
    assert "Not computed yet" in page
    assert "Some numbers are still being computed." in page
    work(sent)
    for path in ("/populations/clinics/", "/populations/", "/"):
        page = page_text(client.get(path))
        assert "not computed yet" not in page.lower()
        assert "still being computed" not in page
        work(sent)


def test_numbers_of_another_state_of_a_book_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    spent_twice()
    recipe = published_recipe(epsilon=0.5, **RECIPE)
    clinics = population_named("clinics")
    sent = workers_answer(monkeypatch)

    def changed() -> None:
        assert balance_of(population_named("clinics")).spent is None
        work(sent)
        balance = balance_of(population_named("clinics"))
        assert balance.spent == composed_epsilon(unreturned_events(clinics), balance.delta)

    changed()
    spending_return(recipe=str(recipe.identifier))
    changed()
    budget = Budget(epsilon=3.0, delta=1e-5)
    population_change(population=clinics, description="", budget=budget, actor=None)
    changed()


def test_book_up_to_a_line_stays_what_it_was() -> None:
    """So an answer that comes late is one to what was asked."""
    spent_twice()
    clinics = population_named("clinics")
    recipe = published_recipe(epsilon=0.5, **RECIPE)
    before, events = Book.of(clinics), unreturned_events(clinics)
    assert Book.from_mapping(before.as_dict()).events == events
    published_recipe(epsilon=0.6, **RECIPE)
    spending_return(recipe=str(recipe.identifier))
    assert Book.from_mapping(before.as_dict()).events == events
    assert Book.of(clinics).events == unreturned_events(clinics) != events
