"""404 with a page of its own, which names what is missing."""

from django.http import Http404


class MissingError(Http404):
    """There is no such thing.

    Attributes:
        template: of that page.
    """

    def __init__(self, message: str, *, template: str) -> None:
        super().__init__(message)
        self.template = template
