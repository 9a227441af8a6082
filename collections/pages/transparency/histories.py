"""The outcome of each recipe, from the public log and the populations' books: one line for each."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.selectors import Spent, spent_by
from log.audit.models import Entry
from pages.transparency.charts import KINDS
from recipes.selectors import recipes_of_subjects


@dataclass
class History:
    """One recipe.

    Attributes:
        name: of the recipe.
        identifier: of the recipe.
        population: name; empty if it has none.
        entries: kind of the timeline → its newest entry about the recipe.
        spent: None if it spent nothing, as simulations do.
    """

    name: str
    identifier: str
    population: str
    spent: Spent | None
    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def published(self) -> Entry | None:
        return self.entries.get("Published")

    @property
    def closed(self) -> Entry | None:
        return self.entries.get("Closed")

    @property
    def released(self) -> Entry | None:
        return self.entries.get("Released")

    @property
    def withheld(self) -> Entry | None:
        return self.entries.get("Withheld")

    @property
    def announced(self) -> Entry | None:
        return self.entries.get("Announced")


def histories_of(entries: Iterable[Entry], most: int) -> list[History]:
    """What became of the first `most` recipes among these entries, in their order.

    Args:
        entries: newest first.
    """
    kind_of = {action: kind for kind, actions in KINDS.items() for action in actions}
    by_subject: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        if entry.action in kind_of:
            by_subject.setdefault(entry.subject, {}).setdefault(kind_of[entry.action], entry)
    recipes = recipes_of_subjects(by_subject)
    known = [subject for subject in by_subject if subject in recipes][:most]
    spent = spent_by(known)
    return [
        History(
            name=recipes[subject].name,
            identifier=subject,
            population=recipes[subject].population,
            spent=spent.get(subject),
            entries=by_subject[subject],
        )
        for subject in known
    ]
