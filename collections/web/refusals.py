"""Refusals of the domain as problem documents: views run its operations within `as_problems`."""

from collections.abc import Iterator
from contextlib import contextmanager

from panprivacy.formats.errors import FieldError
from web.problems import conflict, invalid_field, too_often, unavailable

Errors = type[Exception] | tuple[type[Exception], ...]


@contextmanager
def as_problems(*, conflicts: Errors = (), busy: Errors = (), often: Errors = ()) -> Iterator[None]:
    """Errors of operations as problem documents: FieldError as 400 with its field.

    Args:
        conflicts: errors that mean that the state does not allow it (409).
        busy: that another server did not answer; nothing was changed, and it may be tried again (503).
        often: that it was asked too often (429).

    Both latter may be subclasses of the first.

    Raises:
        Problem: in place of any of these.
    """
    try:
        yield
    except FieldError as error:
        raise invalid_field(error) from None
    except often as error:
        raise too_often(f"Nothing was changed: {error}.") from None
    except busy as error:
        raise unavailable(f"Nothing was changed: {error}.") from None
    except conflicts as error:
        raise conflict(error) from None
