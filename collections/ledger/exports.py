"""A population's book as files: exact values, nothing rounded; numbers that are not known are missing."""

import json
from collections.abc import Sequence
from typing import Any

from ledger.selectors import Balance, Line
from ledger.serializers import PopulationSerializer, SpendingSerializer
from web.spreadsheets import csv_lines

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


def book_document(balance: Balance, lines: Sequence[Line]) -> dict[str, Any]:
    """The whole book, oldest line first; `complete` is whether every number in it was computed."""
    spendings = [{**SpendingSerializer(line).data, "computed": line.computed} for line in reversed(lines)]
    known = balance.spent is not None and balance.spent_if_half_colludes is not None
    complete = known and all(line.computed for line in lines)
    return {**PopulationSerializer(balance).data, "complete": complete, "spendings": spendings}


def book_csv(balance: Balance, lines: Sequence[Line]) -> str:
    """The whole book, oldest line first; `computed` is true or false, the event JSON in its column."""
    rows: list[Sequence[object]] = [COLUMNS]
    for line in reversed(lines):
        document = dict(SpendingSerializer(line).data)
        document |= {"model": balance.model, "relation": balance.relation}
        document["computed"] = "true" if line.computed else "false"
        document["event"] = json.dumps(document["event"], sort_keys=True)
        rows.append([document[column] for column in COLUMNS])
    return csv_lines(rows)
