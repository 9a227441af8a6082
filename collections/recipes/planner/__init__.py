"""What a collection will give before it is published: the REST API of plans, guarantees of drafts.

Others call `operations` and `guarantees`. Workers compute both (`storage.answers`); the mathematics is
`panprivacy`.

It must not know reports or results: a plan is of parameters alone.
"""

__all__ = ["guarantees", "operations"]
