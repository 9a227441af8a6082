"""Which format a view of the API answers in."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class OneFormat(DefaultContentNegotiation):
    """For views that answer in a format of their own, such as CSV: `Accept` is disregarded, which RFC 9110,
    12.5.1, allows."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: Any = None
    ) -> tuple[BaseRenderer, str]:
        """The one that renders problem documents."""
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)
