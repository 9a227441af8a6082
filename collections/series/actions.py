"""What the audit log tells of series."""

from audit.registry import action_declare

SERIES_PUBLISHED = action_declare("series_published", "Series published", public=True)
SERIES_STOPPED = action_declare("series_stopped", "Series stopped", public=True)
SERIES_MARKED = action_declare("series_marked", "Series marked", public=True)
ROUND_SKIPPED = action_declare("series_round_skipped", "Round of a series skipped", public=True)
