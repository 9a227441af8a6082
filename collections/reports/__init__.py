"""Takes reports in: each counts once, and is stored before it is acknowledged.

Others call `operations`, `parsing`, `selectors`, `chunking`, `arrivals` (when an open recipe has enough of
them), `partitions` and `segments` (reports in the object store), and read `models`. Its views are the REST
API for devices and for curators' items. `door` answers them in front of Django's middleware, and
`device_origins` lets pages of other origins read the answers.

It must not know what happens to a report: neither private keys nor sums.
"""

__all__ = [
    "arrivals",
    "chunking",
    "device_origins",
    "door",
    "models",
    "object_store",
    "operations",
    "parsing",
    "partitions",
    "segments",
    "selectors",
]
