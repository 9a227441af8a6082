"""Numbers of the ledger are computed when a book has changed, not when a page shows it.

A worker goes through the books and computes what their pages show; `composed` remembers it. Pages compute
for a moment only. Nothing depends on this: what is missing is computed where it is needed.
"""

from django.core.cache import caches
from django.db.models import Max

from ledger.composed import CACHE, Allowance
from ledger.models import Population
from ledger.selectors import balance_of, lines_of, spendings_list
from panprivacy.accounting.number_cache import number_key

LINES = 200
"""Lines of a book that its page shows, the newest ones."""

TASK_SECONDS = 20.0
"""For how long one task computes. A single number is not interrupted."""


def books_behind() -> list[Population]:
    """Populations that were spent from and whose numbers are not all remembered, the newest first."""
    changed = {population: _marker(population) for population in _spent()}
    known = caches[CACHE].get_many(changed.values())
    return [population for population, marker in changed.items() if marker not in known]


def books_compute(seconds: float = TASK_SECONDS) -> None:
    """Compute what the pages of `books_behind` show, for so long; what is left stays behind."""
    allowance = Allowance(seconds)
    for population in books_behind():
        if _is_computed(population, allowance):
            caches[CACHE].set(_marker(population), True)


def _is_computed(population: Population, allowance: Allowance) -> bool:
    balance = balance_of(population, allowance)
    lines = lines_of(balance, list(spendings_list(population)[:LINES]))
    # What another version wrote is not waited for.
    return not balance.readable or (balance.complete and all(line.computed for line in lines))


def _spent() -> list[Population]:
    lines = Population.objects.annotate(last_line=Max("spendings__pk"))
    return list(lines.filter(last_line__isnull=False))


def _marker(population: Population) -> str:
    """Another one after each line, and for another budget or version."""
    of = [population.pk, population.epsilon, population.delta, population.rule, population.last_line]  # type: ignore[attr-defined]  # annotated
    return number_key("book", *of)
