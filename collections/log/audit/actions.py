"""What the audit log records about accounts and pages."""

from log.audit.registry import action_declare

SIGNED_IN = action_declare("signed_in", "Signed in", public=False)
SIGN_IN_FAILED = action_declare("sign_in_failed", "Sign-in failed", public=False)
SIGN_IN_LOCKED = action_declare("sign_in_locked", "Sign-in locked after repeated failures", public=False)
SIGNED_OUT_EVERYWHERE = action_declare("signed_out_everywhere", "Signed out everywhere", public=False)
PERMISSION_CHANGED = action_declare("permission_changed", "Permission changed", public=False)
ACCOUNT_CHANGED = action_declare("account_changed", "Account created, changed or deleted", public=False)
ACCESS_DENIED = action_declare("access_denied", "Access denied", public=False)
