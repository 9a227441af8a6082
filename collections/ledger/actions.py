"""What the audit log tells of populations."""

from audit.registry import action_declare

POPULATION_CREATED = action_declare("population_created", "Population created", public=False)
POPULATION_CHANGED = action_declare("population_changed", "Population or its budget changed", public=False)
