"""The event types, and the entries of the audit log that report them."""

from dataclasses import dataclass

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed


@dataclass(frozen=True)
class Kind:
    """One kind of event.

    Attributes:
        name: as programs read it; it stays for good.
        title: what people read instead.
        page: name of the address of the page that it is about, which shows the same to every reader.
        action: of the audit entries that report it; empty if no entry does, and `outbox` detects it.
    """

    name: str
    title: str
    page: str
    action: str = ""


RECIPE, SERIES, POPULATION = "recipe", "series", "population"

COHORT_REACHED = Kind("recipe.cohort_reached", "Enough devices reported", RECIPE)
RULE_FIRED = Kind("rule_fired", "Rule fired", RECIPE)
BUDGET_NEARLY_SPENT = Kind("budget.nearly_spent", "Budget nearly spent", POPULATION)

KINDS = {
    kind.name: kind
    for kind in (
        Kind("recipe.published", "Recipe published", RECIPE, "recipe_published"),
        COHORT_REACHED,
        Kind("recipe.closed", "Recipe closed", RECIPE, "recipe_closed"),
        Kind("result.released", "Result released", RECIPE, "result_released"),
        Kind("result.held", "Result held: too many reports", RECIPE, "result_held"),
        Kind("result.withheld", "Result withheld", RECIPE, "result_withheld"),
        Kind("series.round_skipped", "Round of a series skipped", SERIES, "series_round_skipped"),
        RULE_FIRED,
        BUDGET_NEARLY_SPENT,
    )
}

BY_ACTION = {kind.action: kind for kind in KINDS.values() if kind.action}


def kinds_chosen(names: object) -> list[str]:
    """Names of kinds, each once, in the order of `KINDS`.

    Raises:
        FieldError: naming `events`: no list, none, or one that is unknown.
    """
    known = ", ".join(KINDS)
    if not isinstance(names, list) or not names:
        raise FieldError("events", f"must be a list of at least one of {known}")
    for name in names:
        if not isinstance(name, str) or name not in KINDS:
            raise FieldError("events", f"must be of {known}, not {as_typed(name)}")
    return [name for name in KINDS if name in names]
