"""Where the items of a stream come in."""

import traceback

import structlog
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from panprivacy.streams.item_bytes import ItemError
from reports.items import BODY_BYTES, invalid_item, read_items
from reports.receiving import ReceivingView
from streams.errors import StreamClosedError, StreamLostError
from streams.operations import items_fold
from web.bodies import read_body
from web.problems import Problem

logger = structlog.get_logger(__name__)


class ItemsView(ReceivingView):
    """POST a batch of items: counted once, all of them or none."""

    what = "items"

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = self.recipe(identifier)
        elsewhere = recipe.published.servers.where_items_go()
        if elsewhere:
            title = "The recipe is not about a stream of items"
            raise Problem("recipe-takes-no-items", title, 409, elsewhere)
        batch = read_items(read_body(request, BODY_BYTES), request.content_type or "")
        try:
            items_fold(identifier=identifier, nonce=batch.nonce, items=batch.items, now=timezone.now())
        except ItemError as error:
            raise invalid_item(error.index, error.message) from None
        except StreamClosedError:
            raise self.not_open(recipe) from None
        except StreamLostError:
            logger.error("stream_lost", recipe=identifier)
            raise _broken("The state of this stream cannot be read.") from None
        except OperationalError:
            raise
        except Exception as error:
            # Only what is ours: the message of an error that nobody expected might quote an item.
            frames = traceback.format_tb(error.__traceback__)
            logger.error("items_not_folded", recipe=identifier, error=type(error).__name__, frames=frames)
            raise _broken("The fault is on our side.") from None
        return JsonResponse({"status": "counted"})


def _broken(detail: str) -> Problem:
    return Problem("internal-error", "Something went wrong here", 500, f"{detail} Nothing was counted.")
