"""Random operations on both servers of a recipe with a joint key, with faults everywhere; and an oracle: one
list, one decryption, and the count that the reports have."""

import random
from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings

from joint_key.helper.models import JointRecipe
from joint_key.leader.models import JointSum
from joint_key.leader.sums import helper_of, sum_drive
from log.audit.models import Entry
from log.public_log.tree_growth import integrate
from panprivacy.accounting.trust import Trust
from partners.partner import Partner
from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import RecipeKey
from reports.models import AcceptedReport
from results.aggregation.models import Chunk
from results.aggregation.operations import chunk_process
from results.models import Release
from tests.collections.joint_key.scene import reported
from tests.collections.tokens.admission.scene import FakeIssuer
from tests.driving import collections_advance, rests_end
from tests.factories import recipe_members
from tests.faults.machines import Machine
from tests.faults.network import Fault, Network
from tests.faults.simulation import Clock, mortal
from tests.network import Answer
from tokens.admission.operations import issuances_drive, issuances_take

OPERATIONS = (
    *("advance",) * 2,
    "check",
    *("drive",) * 4,
    *("drive two at once",) * 2,
    "sign the log",
    "wait",
    "late",
)


class JointSimulation:
    """A leader (this thread's database), a helper (another machine), and a closed recipe with its reports.

    Attributes:
        seed: repeats operations and faults; randomness of the product itself stays the system's.
        deaths: how often the leader died.
        log: what was done, for the reader of a failure.
    """

    PART_REPORTS = 3

    def __init__(self, seed: int, helper: Machine, clock: Clock) -> None:
        self.seed, self.helper, self.clock = seed, helper, clock
        self.choices = random.Random(seed)
        self.network = Network(helper, self.choices)
        self.deaths = 0
        self.log: list[str] = []
        self.bits = [self.choices.randrange(2) for _ in range(self.choices.randint(5, 8))]
        self.issuer = FakeIssuer(issued=len(self.bits))
        partner = Partner(
            url=settings.HELPER_URL,
            verification_key=settings.HELPER_KEY,
            leader_url=settings.LEADER_URL,
            signing_key=settings.SIGNING_KEY,
            transport=self.network,
        )
        recipe = recipe_publish_file(
            members=recipe_members(trust="joint_key"),
            actor=None,
            partners={Trust.JOINT_KEY: partner},
            admitting=self.issuer.admitting(),
        )
        self.recipe = recipe_close(recipe=reported(recipe, self.bits, bad=1), actor=None)

    def step(self) -> None:
        """One random operation with whatever goes wrong."""
        operation = self.choices.choice(OPERATIONS)
        self.log.append(operation)
        match operation:
            case "advance":
                mortal(self, self._advance, statements=60)
            case "check":
                mortal(self, self._check_reports)
            case "drive":
                self._drive(faults=True)
            case "drive two at once":
                self.network.meanwhile = lambda: self._drive(faults=True)
                self._drive(faults=True)
                self.network.meanwhile = None
            case "sign the log":
                mortal(self, integrate)
            case "wait":
                self.clock.now += timedelta(minutes=self.choices.choice([1, 10]))
            case "late":
                self.network.deliver_late()

    def settle(self) -> None:
        """Let everything go well from here: whatever was under way must come to an end by itself."""
        self.log.append("settle")
        self.network.deliver_late()
        for _ in range(6):
            self.clock.now += timedelta(minutes=10)
            self._advance()
            self._check_reports()
            self._drive(faults=False)
            integrate()

    def check(self) -> None:
        """That there is one result, and that nothing of it is left but what others recompute it from."""
        release = Release.objects.get(recipe=self.recipe)
        assert release.outcome == Release.Outcome.RELEASED, release.reason
        row = JointSum.objects.get(recipe=self.recipe)
        assert (row.count, row.reports, release.reports) == (sum(self.bits), len(self.bits), len(self.bits))
        assert release.rejected == {"invalid_proof": 1}
        assert AcceptedReport.objects.filter(recipe=self.recipe).count() == len(self.bits)
        assert not RecipeKey.objects.exists()
        assert row.is_deleted_there
        assert Entry.objects.filter(action="list_accepted").count() == 1
        self.helper.run(lambda: self._check_helper(row.list))

    @staticmethod
    def _check_helper(digest: str) -> None:
        row = JointRecipe.objects.get()
        assert (row.state, row.sealed, row.list) == (JointRecipe.State.ENDED, None, digest)
        for action in ("joint_recipe_joined", "joint_list_signed", "joint_part_given", "joint_recipe_ended"):
            assert Entry.objects.filter(action=action).count() == 1, action

    def _advance(self) -> None:
        rests_end()
        collections_advance()
        taken = issuances_take(now=self.clock.now)
        issuances_drive(taken=taken, now=self.clock.now, transport=self.issuer)

    def _check_reports(self) -> None:
        for chunk in Chunk.objects.values_list("pk", flat=True):
            chunk_process(chunk=chunk)

    def _drive(self, *, faults: bool) -> None:
        row = JointSum.objects.select_related("recipe").first()
        if row is None:
            return
        transport = self._faulty if faults else self.network

        def drive() -> None:
            sum_drive(row=row, helper=helper_of(row.recipe, transport), now=self.clock.now)

        if faults:
            mortal(self, drive)
        else:
            drive()

    def _faulty(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The network, with a fault for every second request or so."""
        self.network.next_fault = self.choices.choice([*[Fault.NONE] * 7, *Fault])
        self.log.append(f"  {method} {url.rpartition('/')[2]}: {self.network.next_fault.value}")
        return self.network(method, url, headers, body)
