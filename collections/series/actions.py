"""What the audit log records about series."""

from log.audit.registry import action_declare

SERIES_PUBLISHED = action_declare(
    "series_published",
    "Series published",
    public=True,
    shown=("name", "every", "time_zone", "rounds", "population", "statistic", "simulation", "reserves"),
)
ROUNDS_PUBLISHED = action_declare(
    "rounds_published",
    "Recipe in rounds published",
    public=True,
    shown=("name", "rounds", "population", "statistic", "simulation", "reserves"),
)
INPUT_PUBLISHED = action_declare(
    "round_input_published", "Public input of a round published", public=True, shown=("of", "round")
)
SERIES_STOPPED = action_declare("series_stopped", "Series stopped", public=True, shown=("rounds_left",))
SERIES_MARKED = action_declare("series_marked", "Series marked", public=True)
ROUND_SKIPPED = action_declare(
    "series_round_skipped", "Round of a series skipped", public=True, shown=("round",)
)
