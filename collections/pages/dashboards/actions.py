"""What the audit log records about dashboards: never a title, nor what they hold."""

from log.audit.registry import action_declare

DASHBOARD_CREATED = action_declare("dashboard_created", "Dashboard created", public=False)
DASHBOARD_SHARED = action_declare("dashboard_shared", "Readers of a dashboard changed", public=False)
DASHBOARD_DELETED = action_declare("dashboard_deleted", "Dashboard deleted", public=False)
