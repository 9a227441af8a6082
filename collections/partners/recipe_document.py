"""The recipe in which a server is asked to take part: reading it, and when its time is over."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

import structlog

from panprivacy.encryption.interface import InvalidKeyError
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe, recipe_of
from partners.problems import refused

logger = structlog.get_logger(__name__)

SIMULATION_LIFETIME = timedelta(days=1)
"""After which a simulation, which is not bound by its times, is taken for abandoned."""


class TakingPart(Protocol):
    """A server's row of a recipe. `ends_at` raises ValueError if its document cannot be read."""

    @property
    def identifier(self) -> str | None: ...

    @property
    def ends_at(self) -> datetime: ...


R = TypeVar("R", bound=TakingPart)


def recipe_read(*, document: str, identifier: str) -> PublishedRecipe:
    """The recipe, checked as a device checks it but for the signatures.

    Args:
        document: its canonical JSON, exactly.
        identifier: 64 hexadecimal digits; must be the SHA-256 of the document.

    Raises:
        Problem: it is invalid, or breaks what it states; the detail gives the reason.
    """
    try:
        members = json.loads(document)
        if not isinstance(members, dict):
            raise refused("document: must be a JSON object.")
        recipe = PublishedRecipe.from_document(members)
        # Its derived parameters must satisfy its stated bounds, as a device checks.
        recipe.calibrated_statistic.require_promise()
    except (FieldError, InvalidKeyError) as error:
        raise refused(f"document: {error}.") from None
    except (ValueError, RecursionError):
        raise refused("document: must be JSON.") from None
    if recipe.canonical != document.encode() or recipe.identifier != identifier:
        raise refused("document: must be canonical, and its SHA-256 the identifier that is asked for.")
    return recipe


def closing_time(document: str, registered_at: datetime) -> datetime:
    """When a recipe closes, or a simulation is abandoned; ValueError if the document cannot be read."""
    recipe = recipe_of(document)
    return registered_at + SIMULATION_LIFETIME if recipe.simulation else recipe.closes_at


def overdue(rows: Iterable[R], *, now: datetime) -> Iterator[R]:
    """Those whose time is over. One that another version wrote is logged, and does not keep the others."""
    for row in rows:
        try:
            is_over = row.ends_at <= now
        except ValueError as error:
            logger.error("recipe_unreadable", recipe=row.identifier, error=str(error))
            continue
        if is_over:
            yield row
