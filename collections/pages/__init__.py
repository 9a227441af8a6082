"""Pages, forms, charts, words, and the admin site.

`kinds` has one file for each kind of input, `trust_models` one for each trust model; `words` has the
sentences that more than one page shows, `charts` draws. Only panapp imports this package: `status` (pages of
helper and shuffler), `api_docs`, `admin_sign_in`, and `charts` and `papers` for the two commands that compute
its numbers.

It must not know how anything is computed or stored, and decides nothing: its views parse, call one
operation, present. Two sub-apps have tables about pages: `dashboards`, and `overview` for visits.
"""

__all__ = ["admin_sign_in", "api_docs", "charts", "papers", "status"]
