"""The leader of DAP tasks: takes uploads, verifies them with the helper, collects the sums.

Others call `operations` and `registrations` (tasks and what they need of the helper), `peers` (the helper of
a task), `results` and `selectors` (what came of them), read `models`, receive
`progress_signal`, and catch `errors`; commands drive
`periodic_check`, `aggregation` and `collection`, and `plain_tasks`.

It must not know stored recipes: what it runs are tasks.
"""

__all__ = [
    "aggregation",
    "collection",
    "errors",
    "models",
    "operations",
    "peers",
    "periodic_check",
    "plain_tasks",
    "progress_signal",
    "registrations",
    "results",
    "selectors",
]
