"""The analyzer's part of a shuffled collection: fetches batches from the shuffler, stores them as reports.

Others call `batches`, and read `models`.

It must not know how the shuffler mixes, nor what happens to the reports.
"""

__all__ = ["batches", "models"]
