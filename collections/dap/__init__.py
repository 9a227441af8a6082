"""Distributed aggregation (DAP): tasks, their keys, input shares and batch buckets, on either side.

Leader and helper build on all of it: `admission` (tokens), `input_shares` with `hpke_keys` and
`secrets_at_rest` (opening and checking reports), `buckets` (what is added up, and collected once), `http`,
`converters` and `views` (addresses that both have). Others call `operations` and `selectors` for tasks, and
read `models`, `errors`, `identifiers`, `limits`, `partitions` and `task_files`.

It must not know which side it runs on, nor stored recipes: a task has a statistic of Prio3, but no question.
"""

__all__ = [
    "admission",
    "buckets",
    "converters",
    "errors",
    "hpke_keys",
    "http",
    "identifiers",
    "input_shares",
    "limits",
    "models",
    "operations",
    "partitions",
    "secrets_at_rest",
    "selectors",
    "task_files",
    "views",
]
