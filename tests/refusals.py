"""Refusals that name the field, and functions that only raise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from panprivacy.formats.errors import FieldError


@contextmanager
def field_refused(field: str, match: str | None = None) -> Iterator[None]:
    """A FieldError of this field, with a message that matches."""
    with pytest.raises(FieldError, match=match) as refusal:
        yield
    assert refusal.value.field == field


def raising(error: type[BaseException]) -> Callable[..., Any]:
    """Instead of what a test replaces: raises, whatever it is given."""

    def refuse(*_: object, **__: object) -> None:
        raise error

    return refuse
