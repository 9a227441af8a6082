"""Settings that only some roles have, read when a process of such a role needs them."""

from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")


def required(value: T | None, variable: str) -> T:
    """A setting that this process cannot do without; ImproperlyConfigured, by its variable's name, if it is
    not set."""
    if value is None:
        raise ImproperlyConfigured(f"{variable} must be set")
    return value
