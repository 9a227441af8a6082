"""What the audit log records about an attester: what its administrator did, never what a device did."""

from log.audit.registry import action_declare

DEVICES_ENROLLED = action_declare("devices_enrolled", "Devices enrolled from a list", public=False)
DEVICES_REVOKED = action_declare("devices_revoked", "Devices revoked", public=False)
CODES_MADE = action_declare("enrolment_codes_made", "One-time codes for enrolment made", public=False)
