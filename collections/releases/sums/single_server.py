"""One server: chunks of reports are decrypted and added up here."""

import uuid
from collections.abc import Sequence
from functools import partial

from django.db import transaction

from aggregation.models import Chunk, SubAggregate
from aggregation.operations import chunks_plan
from aggregation.selectors import progress_of
from aggregation.tasks import process_chunk
from panprivacy.trust import Trust
from recipes.models import Recipe, RecipeKey
from releases.sums.interface import Outcome, ServerStanding, Standing, Sum, SumSource, TooFew
from reports.models import ReportNonce, StoredReports
from reports.parsing import ARRIVAL_REASONS
from reports.selectors import rejections_by_reason


class SingleServerSums(SumSource):
    """The sum is the recipe's sub-aggregate, once every chunk is in it."""

    trust = Trust.SINGLE_SERVER
    waits_for_another = False

    def advance(self, recipe: Recipe) -> None:
        send_chunks(chunks_plan(recipe=recipe))

    def is_over(self, recipe: Recipe) -> bool:
        return False

    def is_settled(self, recipe: Recipe) -> bool:
        return not Chunk.objects.filter(recipe=recipe).exists()

    def outcome(self, recipe: Recipe) -> Outcome | None:
        progress = progress_of(recipe)
        # A closed recipe that cannot reach its cohort size has reports that are never planned.
        to_plan = progress.unplanned > 0 and progress.received >= recipe.cohort_size
        if to_plan or not self.is_settled(recipe):
            return None
        if progress.summed < recipe.cohort_size:
            return TooFew(progress.received)
        return Sum(tuple(SubAggregate.objects.get(recipe=recipe).total), progress.summed)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        # In the order in which a worker that finishes a chunk locks them.
        for model in (Chunk, SubAggregate, StoredReports, ReportNonce, RecipeKey):
            model.objects.filter(recipe=recipe).delete()

    def standing(self, recipe: Recipe) -> Standing:
        progress = progress_of(recipe)
        rejections = rejections_by_reason(recipe)
        server = ServerStanding(
            name="Server",
            counted=progress.summed,
            public_rejections={r: n for r, n in rejections.items() if r in ARRIVAL_REASONS},
            hidden_rejections={r: n for r, n in rejections.items() if r not in ARRIVAL_REASONS},
        )
        return Standing(progress.received, progress.waiting, (server,))


def send_chunks(chunks: Sequence[uuid.UUID]) -> None:
    """Have workers take these in, once what planned them is committed."""
    for chunk in chunks:
        transaction.on_commit(partial(process_chunk.delay, str(chunk)))
