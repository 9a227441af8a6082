"""Requests that are turned away because too many are under way."""


class BusyError(Exception):
    """Too many requests compute right now; if no view handles it, the answer is 503 (`errors`)."""
