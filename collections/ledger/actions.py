"""What the audit log records about populations."""

from log.audit.registry import action_declare

POPULATION_CREATED = action_declare("population_created", "Population created", public=False)
POPULATION_CHANGED = action_declare("population_changed", "Population or its budget changed", public=False)
BUDGET_SET = action_declare(
    "budget_set", "Budget of a population set", public=True, shown=("epsilon", "delta", "rule")
)
ATTRIBUTES_DECLARED = action_declare(
    "attributes_declared", "Attributes of a population declared", public=True, shown=("attributes",)
)
"""Public details of the first two; the actor and a population's description stay in the log."""
