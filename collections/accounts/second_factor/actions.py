"""What the audit log records about second factors: never a code or a secret."""

from log.audit.registry import action_declare

FACTOR_ENABLED = action_declare("second_factor_enabled", "Second factor set up", public=False)
FACTOR_DISABLED = action_declare("second_factor_disabled", "Second factor switched off", public=False)
FACTOR_RESET = action_declare("second_factor_reset", "Second factor reset by another", public=False)
RECOVERY_CODE_USED = action_declare("recovery_code_used", "Recovery code used", public=False)
RECOVERY_CODES_MADE = action_declare("recovery_codes_made", "New recovery codes made", public=False)
