"""The canonical spelling of a JSON document (RFC 8785), which is hashed and signed."""

from collections.abc import Mapping
from typing import Any

import rfc8785


class NoCanonicalFormError(ValueError):
    """A document without a canonical form: a number that JSON lacks, a name that is no text, or too many
    levels."""


def canonical_json(document: Mapping[str, Any]) -> bytes:
    """The canonical form of a document, which may be from an untrusted source.

    Raises:
        NoCanonicalFormError: it has none, for any reason.
    """
    try:
        return rfc8785.dumps(dict(document))
    # Half of a surrogate pair in a name is a UnicodeEncodeError: a ValueError, like the library's own errors.
    except (ValueError, RecursionError) as error:
        raise NoCanonicalFormError(str(error)) from error
