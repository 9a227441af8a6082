"""The one spelling of a JSON document (RFC 8785) of which a hash is taken and that is signed."""

from collections.abc import Mapping
from typing import Any

import rfc8785


class NoCanonicalFormError(ValueError):
    """A document that has none: a number that JSON has not, a name that is no text, too many levels."""


def canonical_json(document: Mapping[str, Any]) -> bytes:
    """The canonical form of a document that somebody else may have written.

    Raises:
        NoCanonicalFormError: it has none; whatever else it is.
    """
    try:
        return rfc8785.dumps(dict(document))
    # Half of a surrogate pair in a name is a UnicodeEncodeError: a ValueError, as the library's own are.
    except (ValueError, RecursionError) as error:
        raise NoCanonicalFormError(str(error)) from error
