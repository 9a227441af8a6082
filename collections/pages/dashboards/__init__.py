"""Dashboards: pages that analysts compose of results, series and texts.

`content` says what a dashboard may hold, `operations` changes it, `cards` has what a reader sees of it. `api`
is the REST API. A dashboard holds identifiers and texts, never a number of a result: what it shows is what
the results' own pages show to the same reader.
"""
