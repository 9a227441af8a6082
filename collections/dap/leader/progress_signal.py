"""That something happened to a task for which others may wait: this package does not know them."""

from django.dispatch import Signal

task_moved = Signal()
"""Sent in the transaction that stores it, with `task_id` (bytes): a collection has a result or was refused,
or the task ends. It may be sent in vain."""
