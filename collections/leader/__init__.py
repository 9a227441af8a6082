"""The leader of DAP tasks: takes uploads, verifies them with the helper, collects the sums.

Others call `operations` and `registrations` (tasks and what they need of the helper), `results` and
`selectors` (what came of them); commands drive `advancing`, `aggregating` and `collecting`, and
`plain_tasks`.

It must not know stored recipes: what it runs are tasks.
"""

__all__ = [
    "advancing",
    "aggregating",
    "collecting",
    "errors",
    "models",
    "operations",
    "peers",
    "plain_tasks",
    "registrations",
    "results",
    "selectors",
]
