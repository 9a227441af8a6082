"""What the audit log records of private simulations: that there was one, and nothing of what it asked."""

from log.audit.registry import action_declare

SIMULATION_STARTED = action_declare("simulation_started", "Private simulation started", public=False)
SIMULATION_DELETED = action_declare("simulation_deleted", "Private simulation deleted", public=False)
