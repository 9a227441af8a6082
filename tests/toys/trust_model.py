"""A trust model, as a programmer adds one: a class or an instance for each layer, and their lines.

Its server is this site, which counts what it has received for the toy's owner too. `TOY` is what would be
a member of the enum: names are looked up in the tables, so that no test has to change the enum.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pages.trust_models import Adversary, Observers, PartnerShown, ShownTrustModel
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust
from panprivacy.device.rest_upload import RestUpload
from panprivacy.device.transport import Transport
from panprivacy.device.trust_models import ReportPath
from panprivacy.device.upload import Upload
from panprivacy.encryption import generate_private_key, load_public_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.trust_models import Servers
from panprivacy.statistics.trust_models.members import read_public_key, read_server
from publishing.interface import Prepared, TrustModel, Wish
from publishing.single_server import KeptKey
from recipes.models import Recipe
from results.aggregation.operations import progress_of, sum_forget, sum_is_settled, sum_of
from results.aggregation.tasks import sum_advance
from results.outcomes import Outcome, Progress, ServerProgress, Sum, TooFew
from results.trust_models.interface import CollectionModel

TOY = str.__new__(Trust, "toy")
TOY._name_, TOY._value_ = "TOY", "toy"


@dataclass(frozen=True, kw_only=True)
class ToyBox(Servers, trust=TOY, member_names=("toy_box",), device_inputs=(DeviceInput.EVENTS,)):
    """One server with an owner."""

    owner: str
    key_members: Mapping[str, str]

    @property
    def scheme(self) -> str:
        return self.key_members["scheme"]

    @property
    def public_keys(self) -> tuple[PublicKey, ...]:
        return (load_public_key(self.key_members),)

    def members(self) -> dict[str, Any]:
        return {"toy_box": {"owner": self.owner, "public_key": dict(self.key_members)}}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        box = read_server("toy_box", members.get("toy_box"), ("owner", "public_key"))
        key = read_public_key("toy_box.public_key", box["public_key"])
        return cls(owner=str(box["owner"]), key_members=key.to_json())


class ToyModel(TrustModel):
    """The box has one key."""

    trust = TOY

    def prepare(self, wish: Wish) -> Prepared:
        key = generate_private_key(str(wish.draft.encryption), secrets.SystemRandom())
        box = ToyBox(owner="Christopher", key_members=key.public_key.to_json())
        return KeptKey(wish.publish(box), key)


class ToyCollection(CollectionModel):
    """The sum is that of the reports that came here."""

    trust = TOY
    cohort_of = "valid toys"

    def advance(self, recipe: Recipe) -> None:
        sum_advance(recipe=recipe)

    def is_settled(self, recipe: Recipe) -> bool:
        return sum_is_settled(recipe)

    def outcome(self, recipe: Recipe) -> Outcome | None:
        found = sum_of(recipe, least=recipe.cohort_size)
        if found is None:
            return None
        few = found.reports < recipe.cohort_size
        return TooFew(found.received) if few else Sum(found.total, found.reports)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        sum_forget(recipe=recipe)

    def progress(self, recipe: Recipe) -> Progress:
        found = progress_of(recipe)
        box = ServerProgress(name="Toy box", counted=found.summed)
        return Progress(found.received, found.waiting, (box,))

    def told_with_release(self, recipe: Recipe) -> Mapping[str, Sequence[Any]]:
        return {"owners": ["Christopher"]}


class ToyPath(ReportPath):
    """To this site."""

    def _upload(self, transport: Transport) -> Upload:
        return RestUpload(self.recipe.identifier, transport)


def _owner(servers: ToyBox) -> PartnerShown:
    return PartnerShown(
        name="owner",
        url=f"https://{servers.owner.lower()}.example",
        role="Owns the toys.",
        verification_key="",
    )


SHOWN_TOY = ShownTrustModel(
    trust=TOY,
    title="A toy box",
    summary="The box takes every toy in.",
    receiver="the box",
    own_role="Takes every toy in.",
    publishing="A box is made for it",
    meaning="A box holds the toys.",
    summing="The toys are being counted.",
    waiting="Toys are awaited.",
    deleted="The box is empty.",
    adversaries=(
        Adversary("The owner of the box", "sees every toy", False),
        Adversary("An outsider without the box", "sees no toy", True),
    ),
    kept=(("Toys", "until the box is emptied"),),
    breach="An attacker with the box sees every toy.",
    observers=Observers(
        headings={
            Model.LOCAL: "A finder of one toy",
            Model.AGGREGATOR: "An observer of the shelf",
            Model.PAN: "An intruder that opens the toy",
        },
        subject="one toy",
        aggregator="An observer of the shelf",
        mixed="An observer of the box,",
        local="A finder of one toy",
        helped="unless they own it",
        betrayal="the finder of the toy knows.",
    ),
    counted="toys",
    needed="valid toys",
    partner_shown=_owner,
)
