"""Databases and files: append-only tables, sealed secrets, erasing, the signing key, the time.

Others call `append_only` (guards that the database keeps), `sealing` (secrets at rest, each under a key that
can be erased: `erasable_keys`, in a `key_service`, which is `key_files` or `key_token`; `key_slots`),
`rotating_keys` (to which clients seal; `key_command` lists them), `erasure` (so that what is deleted is
gone), `device_rows` (which reveal no order), `signing_key` (this installation's own; `key_halves` knows no
settings), `clock` (what time it is), `waits` (pauses until what failed is tried again), `caches` (that run
nothing), `write_check` (whether there is space on the disk), `group_commit` (jobs of many threads in one
transaction), `connections` (that threads share), `kept_rows` (that never change), `claims` (what counts
once), `partitions` (rows that go at once; `partition_functions` is for migrations), `periodic` (tasks that
run one at a time; `turns` is the same for any rows), `answers` (to questions that take long) and `queues`,
`upgrades` (which databases can be) and `database` (that it is up to date), `gauges` (what metrics are made
of), `local_secrets` and `columns`. Django loads `postgresql` by its name in the settings.

It must not know what is stored, nor for which package.
"""

__all__ = [
    "answers",
    "append_only",
    "caches",
    "claims",
    "clock",
    "columns",
    "connections",
    "database",
    "device_rows",
    "erasable_keys",
    "erasure",
    "gauges",
    "group_commit",
    "kept_rows",
    "key_command",
    "key_files",
    "key_halves",
    "key_service",
    "key_slots",
    "key_token",
    "local_secrets",
    "partition_functions",
    "partitions",
    "periodic",
    "queues",
    "rotating_keys",
    "sealing",
    "signing_key",
    "turns",
    "upgrades",
    "waits",
    "write_check",
]
