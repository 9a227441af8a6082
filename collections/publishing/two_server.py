"""A leader, which is this site, and a helper: both verify and add up shares; the leader collects the sums.

Each makes a key pair, and both agree to the document before it is published. They are asked in this order, so
that a crash anywhere leaves nothing with an effect: the helper makes a key; we store a note of the task that
we are about to register; the helper checks and signs the document; one transaction publishes it and forgets
the note. leader/registrations.py handles a note that stays behind.
"""

import secrets
from dataclasses import dataclass

from dap.admission import TokenError
from dap.leader.errors import RegistrationOverError
from dap.leader.models import CountNoise, EndNotice
from dap.leader.operations import COLLECTOR_CONFIG_ID, task_create, task_end
from dap.leader.registrations import registration_forget, registration_note
from dap.leader.results import Refusal, task_result
from dap.leader.selectors import (
    LeaderProgress,
    exchanges_waiting,
    helper_count,
    progress_of,
    published_count,
)
from dap.models import AggregatedReport, Side, Task
from dap.operations import task_close, task_named
from dap.selectors import rejections_of
from panprivacy.accounting import noisy_count
from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import PrivateKey
from panprivacy.protocols.dap.basics import HpkeConfig, ReportError
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.prio3.prio3 import VERIFY_KEY_SIZE
from panprivacy.recipe.dap_task import task_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.two_server import TwoServers
from partners.helper_calls import helper_key, recipe_task_register
from partners.partner import Partner
from partners.request_ids import REQUEST_BYTES
from partners.roles import HELPER
from publishing.agreement import asked, not_under, partner_of, require_signed
from publishing.interface import Prepared, TrustModel, Wish
from publishing.keys import recipe_key_make
from publishing.of_rounds import rounds_document_of
from publishing.outcomes import (
    Outcome,
    Progress,
    Refused,
    ServerProgress,
    Sum,
    TooFew,
    Trouble,
)
from recipes.errors import RecipeStateError
from recipes.models import PartnerSignature, Recipe
from storage import clock
from storage.columns import optional_bytes

PUBLIC_REASONS = frozenset(
    error.reason
    for error in (
        *TokenError,
        ReportError.REPORT_REPLAYED,
        ReportError.REPORT_DROPPED,
        ReportError.BATCH_COLLECTED,
        ReportError.TASK_EXPIRED,
        ReportError.TASK_NOT_STARTED,
        ReportError.OUTDATED_CONFIG,
    )
)
"""Reasons that the leader finds when a report arrives. Only these are public, and only the leader's.

What the helper rejects has passed the leader's half of verification: even how often it finds a report
replayed would reveal whether what was sent with it was valid.
"""

MOST_COUNTED = 1_000_000
"""An open recipe's reports are counted up to this number, or up to the cohort size: pages ask often."""


@dataclass(frozen=True)
class _AgreedTask(Prepared):
    """A document that both servers signed for, and our half of its secrets."""

    published: PublishedRecipe
    partner: Partner
    helper_signature: bytes
    share_key: PrivateKey | None
    verify_key: bytes
    collector_config: HpkeConfig
    collector_key: bytes

    def store(self, recipe: Recipe) -> None:
        task_id, configuration = task_of(self.published)
        try:
            registration_forget(task_id=task_id)
        except RegistrationOverError as error:
            raise RecipeStateError(f"it cannot be published: {error}; try again") from error
        recipe.partner_signatures.create(
            partner=PartnerSignature.Partner.HELPER, signature=self.helper_signature
        )
        task_create(
            task_id=task_id,
            configuration=configuration,
            verify_key=self.verify_key,
            collector_config=self.collector_config,
            collector_key=self.collector_key,
            helper_url=self.partner.url,
            helper_key=self.partner.verification_key,
            share_key=self.share_key,
            document=self.published.canonical.decode(),
            now=clock.database_now(),
        )


class TwoServerModel(TrustModel):
    """A recipe is one task; the leader's periodic work moves every task on."""

    trust = Trust.TWO_SERVER
    partner = HELPER
    cohort_of = "valid reports"

    def prepare(self, wish: Wish) -> Prepared:
        partner = partner_of(self.trust, HELPER, wish.partners)
        source = secrets.SystemRandom()
        # Devices that keep nothing send plain shares: there is nothing to encrypt them to beforehand.
        share_key = None if wish.draft.encryption is None else recipe_key_make(wish.draft, source)
        request = source.randbytes(REQUEST_BYTES)
        ours = theirs = None
        if share_key is not None:
            scheme, ours = share_key.public_key.scheme, share_key.public_key.to_json()
            theirs = asked(
                not_under(self.trust),
                HELPER,
                partner,
                lambda: helper_key(partner, request=request, scheme=scheme).to_json(),
            )
        servers = TwoServers(
            leader_url=partner.leader_url,
            leader_key_members=ours,
            helper_url=partner.url,
            helper_key_members=theirs,
            helper_verification_key=partner.verification_key,
        )
        published = wish.publish(servers)
        rounds = b"" if wish.draft.round is None else rounds_document_of(wish.draft.round)
        verify_key = source.randbytes(VERIFY_KEY_SIZE)
        collector_config, collector_key = generate_keypair(COLLECTOR_CONFIG_ID, source)
        task_id = bytes.fromhex(published.identifier)
        registration_note(task_id=task_id, partner=partner, now=clock.database_now())
        signature = asked(
            not_under(self.trust),
            HELPER,
            partner,
            lambda: recipe_task_register(
                partner,
                task_id=task_id,
                document=published.canonical,
                request=request,
                verify_key=verify_key,
                collector_config=collector_config,
                rounds=rounds,
            ),
        )
        require_signed(HELPER, partner, published, signature)
        return _AgreedTask(
            published, partner, signature, share_key, verify_key, collector_config, collector_key
        )

    def close(self, recipe: Recipe) -> None:
        task = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=Side.LEADER)
        if task is not None:
            task_close(task=task)
            self._noise_draw(recipe, task)

    def is_over(self, recipe: Recipe) -> bool:
        """The helper may have ended the task."""
        return _task(recipe).state != Task.State.OPEN

    def is_settled(self, recipe: Recipe) -> bool:
        return task_result(_task(recipe)) is not None

    @staticmethod
    def _noise_draw(recipe: Recipe, task: Task) -> None:
        source, size = secrets.SystemRandom(), recipe.cohort_size
        noise, margin = noisy_count.draw(size, source), noisy_count.draw_margin(size, source)
        CountNoise.objects.get_or_create(task=task, defaults={"noise": noise, "margin": margin})

    def outcome(self, recipe: Recipe) -> Outcome | None:
        task = _task(recipe)
        result = task_result(task)
        if result is None:
            return None
        if isinstance(result, Refusal):
            return TooFew(_received(task, recipe)) if result.is_too_few else Refused(_clause(result.detail))
        return Sum(result.values, published_count(task=task, counted=result.report_count))

    def forget(self, recipe: Recipe, outcome: str) -> None:
        task_end(task=_task(recipe), reason=outcome, now=clock.database_now())

    def progress(self, recipe: Recipe) -> Progress:
        task = _task(recipe)
        servers = recipe.published.servers
        if not isinstance(servers, TwoServers):
            raise TypeError("a recipe of two servers names two")
        progress = progress_of(task=task)
        noise = CountNoise.objects.filter(task=task).values_list("noise", flat=True).first() or 0
        ours, theirs = (rejections_of(task, side) for side in (Side.LEADER, Side.HELPER))
        leader = ServerProgress(
            name="Leader",
            url=servers.leader_url,
            counted=max(0, progress.counted + noise),
            public_rejections={r: n for r, n in ours.items() if r in PUBLIC_REASONS},
            hidden_rejections={r: n for r, n in ours.items() if r not in PUBLIC_REASONS},
        )
        count = helper_count(task=task)
        helper = ServerProgress(
            name="Helper",
            url=servers.helper_url,
            counted=None if count is None else max(0, count.report_count + noise),
            hidden_rejections=theirs,
            trouble=_trouble(task, progress),
            verification_key=servers.helper_verification_key,
            count_signature=None if count is None else optional_bytes(count.signature),
        )
        return Progress(_received(task, recipe), progress.waiting + progress.in_jobs, (leader, helper))

    def partner_must_hear(self, recipe: Recipe) -> bool:
        return EndNotice.objects.filter(task__task_id=bytes.fromhex(str(recipe.identifier))).exists()


def _clause(sentence: str) -> str:
    """It is shown after a colon, and before a full stop."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _task(recipe: Recipe) -> Task:
    task = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=Side.LEADER)
    if task is None:
        raise LookupError(f"there is no task for the recipe {recipe.identifier}")
    return task


def _received(task: Task, recipe: Recipe) -> int:
    """Identifiers that were used up on arrival, up to `MOST_COUNTED`: the outcome of verification does not
    change that number."""
    most = max(recipe.cohort_size, MOST_COUNTED)
    return AggregatedReport.objects.filter(task=task)[:most].count()


def _trouble(task: Task, progress: LeaderProgress) -> Trouble | None:
    if progress.failing_since is None or progress.next_attempt is None:
        return None
    return Trouble(
        since=progress.failing_since,
        waiting=exchanges_waiting(task=task),
        next_attempt=progress.next_attempt,
        error=progress.last_error,
    )
