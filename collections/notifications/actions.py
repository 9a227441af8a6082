"""What the audit log records about subscriptions: never an address, nor a secret."""

from log.audit.registry import action_declare

SUBSCRIPTION_CREATED = action_declare("subscription_created", "Subscription created", public=False)
SUBSCRIPTION_DELETED = action_declare("subscription_deleted", "Subscription deleted", public=False)
SECRET_ROTATED = action_declare("webhook_secret_rotated", "Secret of a webhook rotated", public=False)
