"""What a collection will give before it is published: the REST API of plans, and tasks for slow ones.

Others call `operations`, and `losses` where composing takes long. The mathematics is `panprivacy.planning`.

It must not know reports or results: a plan is of parameters alone.
"""

__all__ = ["losses", "operations", "sending"]
