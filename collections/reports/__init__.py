"""Takes reports in: each counts once, and is stored before it is acknowledged.

Others call `operations` (submit reports; `report_store_of`, which gives what `store` describes), `parsing`,
`rows` and `partitions`, and read `models`. Its views
are the REST API for devices and for curators' items. `ingest` answers them in front of Django's middleware,
and `device_origins` lets pages of other origins read the answers.

It must not know what happens to a report. It is given private keys while it adds up, and keeps neither them
nor sums.
"""

__all__ = [
    "device_origins",
    "ingest",
    "models",
    "operations",
    "parsing",
    "partitions",
    "rows",
    "store",
]
