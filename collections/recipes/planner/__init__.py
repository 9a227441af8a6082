"""What a collection will give before it is published: the REST API of plans, and tasks for slow ones.

Others call `operations`, and `guarantees` if computing those takes long. `sending` gives a computation to a
worker, and `checkpoints` limits the time of a computation. The mathematics is `panprivacy`.

It must not know reports or results: a plan is of parameters alone.
"""

__all__ = ["checkpoints", "guarantees", "operations", "sending"]
