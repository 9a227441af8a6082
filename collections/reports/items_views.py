"""The ingest endpoint for items of a stream."""

import traceback

import structlog
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema

from panprivacy.statistics.streams.item_bytes import NO_ITEM, ItemError
from reports import openapi
from reports.items import BODY_BYTES, invalid_item, read_items
from reports.views import ReceivingView
from storage.group_commit import QueueFullError
from storage.key_service import KeyServiceError
from streams.errors import StreamBusyError, StreamClosedError, StreamLostError
from streams.operations import items_fold
from web.bodies import read_body, require_json
from web.openapi import example, problem_response
from web.problems import Problem, unavailable

logger = structlog.get_logger(__name__)

_ELSEWHERE = "Its devices send reports, to …/reports/ or where its document says."


class ItemsView(ReceivingView):
    """For recipes about a stream. The items are folded into the state at once and kept nowhere.

    A batch counts as a whole or not at all; one that is sent again counts once, with the same answer.
    """

    what = "items"

    @extend_schema(
        operation_id="items_submit",
        summary="Submit a batch of items",
        request=openapi.ITEM_BATCH,
        responses={
            200: OpenApiResponse(
                openapi.ItemBatchCountedSerializer,
                "The batch counts, now or since it came first.",
                example({"status": "counted"}),
            ),
            **openapi.REFUSALS,
            409: problem_response(
                "The recipe accepts no items now, or is not about a stream.",
                Problem("recipe-not-open", "The recipe accepts no items now", 409, "It is closed."),
            ),
            413: problem_response("The body is larger than 4 MiB."),
            422: problem_response(
                "The batch or an item of it cannot be one; nothing was counted.",
                invalid_item(17, NO_ITEM),
                openapi.ItemProblemSerializer,
            ),
        },
    )
    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = self.recipe(request, identifier)
        if recipe.published.servers.report_format is not None:
            title = "The recipe is not about a stream of items"
            raise Problem("recipe-takes-no-items", title, 409, _ELSEWHERE)
        require_json(request)
        batch = read_items(read_body(request, BODY_BYTES))
        try:
            items_fold(identifier=identifier, nonce=batch.nonce, items=batch.items, now=timezone.now())
        except ItemError as error:
            raise invalid_item(error.index, error.message) from None
        except StreamClosedError:
            raise self.not_open(recipe) from None
        except StreamBusyError:
            raise unavailable("The stream takes no more items this minute. Send the batch again.") from None
        except QueueFullError:
            raise unavailable(f"Too many batches arrive at once. {self.undone}") from None
        except StreamLostError:
            logger.error("stream_lost", recipe=identifier)
            raise _broken("The state of this stream cannot be read.") from None
        except (OperationalError, KeyServiceError):
            raise
        except Exception as error:
            # Only what is ours: the message of an unexpected error might quote an item.
            frames = traceback.format_tb(error.__traceback__)
            logger.error("items_not_folded", recipe=identifier, error=type(error).__name__, frames=frames)
            raise _broken("The fault is on our side.") from None
        return JsonResponse({"status": "counted"})


def _broken(detail: str) -> Problem:
    return Problem("internal-error", "Something went wrong here", 500, f"{detail} Nothing was counted.")
