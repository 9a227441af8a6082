"""Settings that only some roles have, where a process of such a role needs them."""

from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")


def required(value: T | None, variable: str) -> T:
    """A setting that this process cannot do without; ImproperlyConfigured, by its variable's name, where it
    is not set."""
    if value is None:
        raise ImproperlyConfigured(f"{variable} must be set")
    return value
