"""A shuffler in front of the analyzer, which is this site: a whole batch is fetched, then decrypted and
counted.

This site makes the key pair, and the shuffler agrees to the document. A registration that is not followed by
a publication has no effect: no device knows of it, and the shuffler drops it when its time is over.
"""

import secrets
from dataclasses import dataclass

from panprivacy.accounting.trust import Trust
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from partners.roles import SHUFFLER
from partners.shuffler_calls import recipe_register
from publishing.agreement import asked, not_under, partner_of, require_signed
from publishing.interface import Prepared, TrustModel, Wish
from publishing.keys import recipe_key_make
from publishing.outcomes import (
    Outcome,
    Progress,
    Refused,
    ServerProgress,
    Sum,
    TooFew,
    Trouble,
)
from publishing.single_server import KeptKey
from recipes.models import PartnerSignature, Recipe
from results.aggregation.selectors import progress_of
from results.aggregation.summing import sum_advance, sum_forget, sum_of
from shuffle.analyzer.fetching import fetch_begin, fetch_end
from shuffle.analyzer.models import BatchFetch
from storage import clock
from storage.columns import optional_bytes

State = BatchFetch.State


@dataclass(frozen=True)
class _AgreedKey(Prepared):
    """A document that the shuffler signed for, and the key to what it will hand on."""

    published: PublishedRecipe
    key: KeptKey
    shuffler_signature: bytes

    def store(self, recipe: Recipe) -> None:
        self.key.store(recipe)
        recipe.partner_signatures.create(
            partner=PartnerSignature.Partner.SHUFFLER, signature=self.shuffler_signature
        )


class ShufflerModel(TrustModel):
    """The sum counts the messages of each kind; its reports are users."""

    trust = Trust.SHUFFLER
    takes_one_cohort = True
    partner = SHUFFLER
    cohort_of = "devices"

    def prepare(self, wish: Wish) -> Prepared:
        partner = partner_of(self.trust, SHUFFLER, wish.partners)
        private_key = recipe_key_make(wish.draft, secrets.SystemRandom())
        servers = ShufflerAndAnalyzer(
            shuffler_url=partner.url,
            shuffler_verification_key=partner.verification_key,
            analyzer_key_members=private_key.public_key.to_json(),
        )
        published = wish.publish(servers)
        signature = asked(
            not_under(self.trust),
            SHUFFLER,
            partner,
            lambda: recipe_register(
                partner.client(), identifier=published.identifier, document=published.canonical
            ),
        )
        require_signed(SHUFFLER, partner, published, signature)
        return _AgreedKey(published, KeptKey(published, private_key), signature)

    def advance(self, recipe: Recipe) -> None:
        fetch = fetch_begin(recipe=recipe, now=clock.database_now())
        # No message is decrypted until all of them have arrived.
        if recipe.status == Recipe.Status.CLOSED and fetch.state == State.FETCHED:
            sum_advance(recipe=recipe, least=0)

    def is_over(self, recipe: Recipe) -> bool:
        return _state(recipe) in {State.FETCHED, State.REFUSED}

    def is_settled(self, recipe: Recipe) -> bool:
        state = _state(recipe)
        return state in {State.NOT_FULL, State.REFUSED} or (
            state == State.FETCHED and not progress_of(recipe).waiting
        )

    def outcome(self, recipe: Recipe) -> Outcome | None:
        fetch = BatchFetch.objects.filter(recipe=recipe).first()
        if fetch is None or not self.is_settled(recipe):
            return None
        if fetch.state == State.NOT_FULL:
            return TooFew(fetch.received)
        if fetch.state == State.REFUSED:
            return Refused(fetch.refusal)
        found = sum_of(recipe, least=0)
        return None if found is None else Sum(found.total, recipe.cohort_size)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        fetch_end(recipe=recipe, reason=outcome, now=clock.database_now())
        sum_forget(recipe=recipe)

    def progress(self, recipe: Recipe) -> Progress:
        servers = recipe.published.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError("a recipe of a shuffler names it")
        fetch = BatchFetch.objects.filter(recipe=recipe).first() or BatchFetch(recipe=recipe)
        waiting = progress_of(recipe).waiting
        analyzer = ServerProgress(
            name="Analyzer",
            # Users, like the shuffler's; a single message is not a report.
            counted=recipe.cohort_size if fetch.state == State.FETCHED and not waiting else 0,
        )
        shuffler = ServerProgress(
            name="Shuffler",
            url=servers.shuffler_url,
            counted=None,
            public_rejections=fetch.rejected,
            trouble=_trouble(fetch),
            verification_key=servers.shuffler_verification_key,
            count_signature=optional_bytes(fetch.count_signature),
        )
        return Progress(fetch.received, waiting, (analyzer, shuffler))

    def partner_must_hear(self, recipe: Recipe) -> bool:
        return BatchFetch.objects.filter(recipe=recipe, is_deleted_there=False).exists()


def _state(recipe: Recipe) -> str | None:
    return BatchFetch.objects.filter(recipe=recipe).values_list("state", flat=True).first()


def _trouble(fetch: BatchFetch) -> Trouble | None:
    if fetch.failing_since is None:
        return None
    return Trouble(
        since=fetch.failing_since, waiting=1, next_attempt=fetch.send_after, error=fetch.last_error
    )
