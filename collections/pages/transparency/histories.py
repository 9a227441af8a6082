"""The outcome of each recipe, from the public log and the populations' books: one line for each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger.selectors import Spent, spent_by
from log.audit.models import Entry
from log.audit.selectors import public_entries
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


def histories_of(entries: Sequence[Entry]) -> list[History]:
    """What became of each recipe that these entries are about, in their order, by all entries about it."""
    kind_of = {action: kind for kind, actions in KINDS.items() for action in actions}
    recipes = recipes_of_subjects(entry.subject for entry in entries if entry.action in kind_of)
    spent = spent_by(list(recipes))
    by_subject: dict[str, dict[str, Entry]] = {}
    for entry in public_entries().filter(subject__in=recipes, action__in=kind_of):
        by_subject.setdefault(entry.subject, {}).setdefault(kind_of[entry.action], entry)
    known = dict.fromkeys(entry.subject for entry in entries if entry.subject in by_subject)
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
