"""A population's book as files: exact values, nothing rounded; numbers that are not known are missing."""

import json
import math
from collections.abc import Sequence
from typing import Any

from ledger.selectors import Balance, Line
from panprivacy.times import format_time
from web.spreadsheets import csv_lines

RELATION = "replace"
MODEL = "aggregator"
"""For which neighbouring relation, and against whom, every number here is."""

COLUMNS = (
    "at",
    "kind",
    "recipe",
    "epsilon_alone",
    "epsilon_composed",
    "delta",
    "model",
    "relation",
    "computed",
    "returned_at",
    "event",
    "condition",
)


def balance_document(balance: Balance) -> dict[str, Any]:
    """A population, its budget and what is spent, as plain JSON values."""
    budget = balance.budget
    return {
        "name": balance.population.name,
        "description": balance.population.description,
        "four_eyes": balance.population.needs_approval,
        "attributes": balance.population.attributes,
        "model": MODEL,
        "relation": RELATION,
        "delta": balance.delta,
        "budget": None if budget is None else budget.epsilon,
        "rule": None if budget is None else budget.rule.value,
        "used": None if balance.use is None else _finite(balance.use.share),
        "spent": _finite(balance.spent),
        "left": balance.left,
        "spent_if_half_colludes": _finite(balance.spent_if_half_colludes),
        "recipes": len(balance.events),
    }


def _finite(epsilon: float | None) -> float | None:
    """JSON has no infinity: null stands for every ε that cannot be told."""
    return None if epsilon is None or math.isinf(epsilon) else epsilon


def line_document(line: Line, delta: float) -> dict[str, Any]:
    """One line of the book as plain JSON values."""
    return {
        "at": format_time(line.at),
        "kind": line.kind,
        "recipe": line.recipe,
        "epsilon_alone": _finite(line.alone),
        "epsilon_composed": _finite(line.composed),
        "delta": delta,
        "returned_at": None if line.returned_at is None else format_time(line.returned_at),
        "event": line.event,
        "condition": line.condition,
    }


def book_document(balance: Balance, lines: Sequence[Line]) -> dict[str, Any]:
    """The whole book, oldest line first; `complete` says whether every number in it was computed."""
    spendings = [
        {**line_document(line, balance.delta), "computed": line.computed} for line in reversed(lines)
    ]
    known = balance.spent is not None and balance.spent_if_half_colludes is not None
    complete = known and all(line.computed for line in lines)
    return {**balance_document(balance), "complete": complete, "spendings": spendings}


def book_csv(balance: Balance, lines: Sequence[Line]) -> str:
    """The whole book, oldest line first; `computed` is true or false, the event JSON in its column."""
    rows: list[Sequence[object]] = [COLUMNS]
    for line in reversed(lines):
        document = line_document(line, balance.delta)
        document |= {"model": MODEL, "relation": RELATION}
        document["computed"] = "true" if line.computed else "false"
        document["event"] = json.dumps(document["event"], sort_keys=True)
        rows.append([document[column] for column in COLUMNS])
    return csv_lines(rows)
