"""A site that is the leader, a helper in the same process and database behind its own addresses, and an
issuer in memory.

The helper is the real one, with a signing key of its own; only HTTP is left out.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

# Loaded before a test makes parts shorter: the helper's longest body follows from their length.
import joint_key.helper.views  # noqa: F401
from joint_key.helper.models import JointRecipe
from joint_key.leader.models import JointSum
from joint_key.leader.sums import helper_of, sum_drive, sums_take
from log.public_log.tree_growth import integrate
from panprivacy.accounting.trust import Trust
from panprivacy.device.tokens import token_drawn
from panprivacy.recipe.token import token_shown
from partners import signed_views
from partners.partner import Partner
from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import Recipe
from results.aggregation.models import Chunk
from results.aggregation.operations import chunk_process
from results.models import Release
from tests.collections.publishing.scene import partner, reached
from tests.collections.tokens.admission.scene import FakeIssuer
from tests.driving import collections_advance, rests_end
from tests.factories import raw_reports_submit, recipe_members, report_of_values
from tests.network import Answer, Transport
from tests.tokens import issued_token
from tokens.admission.operations import issuances_drive, issuances_take

SOURCE = random.Random(3801)

BITS = (1, 0, 1, 1, 0, 0)
"""Of the reports of most tests: one more than the cohort."""


def partners(transport: Any = reached) -> dict[Trust, Partner]:
    return {Trust.JOINT_KEY: partner(transport)}


def joint_recipe(
    transport: Any = reached, *, simulation: bool = False, issuer: FakeIssuer | None = None, **changes: Any
) -> Recipe:
    return recipe_publish_file(
        members=recipe_members(trust="joint_key", **changes),
        actor=None,
        simulation=simulation,
        partners=partners(transport),
        admitting=(issuer or FakeIssuer()).admitting(),
    )


def report(recipe: Recipe, bit: int) -> dict[str, Any]:
    """A report that encrypts this bit, its fields as bytes."""
    return signed(recipe, report_of_values(recipe, [bit])["ciphertexts"])


def signed(recipe: Recipe, ciphertexts: list[bytes]) -> dict[str, Any]:
    """The report with which a device sends these."""
    state = token_drawn(recipe.published, SOURCE, now=timezone.now())
    token = issued_token(recipe.published, SOURCE, nonce=state.nonce).encode()
    shown = token_shown(token, state.seed, ciphertexts)
    return {"nonce": state.report_nonce, "ciphertexts": ciphertexts, "token": shown}


def unproved(recipe: Recipe) -> dict[str, Any]:
    """A report of a one with the end of another one's proof."""
    (honest,), (other,) = (report(recipe, 1)["ciphertexts"] for _ in range(2))
    return signed(recipe, [honest[:-96] + other[-96:]])


def reported(recipe: Recipe, bits: Sequence[int] = BITS, *, bad: int = 0) -> Recipe:
    """The same with reports of these bits, and such whose proofs do not hold."""
    reports = [report(recipe, bit) for bit in bits] + [unproved(recipe) for _ in range(bad)]
    assert raw_reports_submit(recipe=recipe, reports=reports) == []
    return recipe


def closed(bits: Sequence[int] = BITS, *, bad: int = 0, **changes: Any) -> Recipe:
    return recipe_close(recipe=reported(joint_recipe(**changes), bits, bad=bad), actor=None)


def reports_take() -> None:
    """What workers do with reports that are to be checked, for a recipe whose step is due."""
    rests_end()
    collections_advance()
    for chunk in Chunk.objects.values_list("pk", flat=True):
        chunk_process(chunk=chunk)


def sums_drive(transport: Any = reached) -> None:
    """What workers do with all sums that are not finished, once every lease is over."""
    now = max([timezone.now(), *JointSum.objects.values_list("send_after", flat=True)])
    for pk in sums_take(now=now).rows:
        row = JointSum.objects.select_related("recipe").get(pk=pk)
        sum_drive(row=row, helper=helper_of(row.recipe, transport), now=now)


def settle(transport: Any = reached, *, ticks: int = 4, issued: int = len(BITS)) -> None:
    """Polls with all the work that comes of them.

    Args:
        issued: the number of tokens, by the issuer.
    """
    for tick in range(ticks):
        reports_take()
        sums_drive(transport)
        # As a worker signs the log. The helper's entries are in the same one here.
        integrate()
        now = timezone.now() + timedelta(minutes=10 * (tick + 1))
        issuances_drive(taken=issuances_take(now=now), now=now, transport=FakeIssuer(issued=issued))


def listed(**changes: Any) -> Recipe:
    """A closed recipe with a list that both signed, and that is in the log."""
    recipe = closed(**changes)
    for _ in range(2):
        reports_take()
    sums_drive()
    integrate()
    return recipe


def sum_of(recipe: Recipe) -> JointSum:
    return JointSum.objects.get(recipe=recipe)


def there(recipe: Recipe) -> JointRecipe:
    """The helper's row."""
    return JointRecipe.objects.get(identifier=recipe.identifier)


def release_of(recipe: Recipe) -> Release:
    return Release.objects.get(recipe=recipe)


def answering(ending: str, other: Callable[[Any], None], monkeypatch: Any) -> Transport:
    """A network on which the helper itself gives another answer at one address.

    Args:
        other: changes the helper's answer, before it signs it.
    """
    signed = signed_views._sign

    def sign(request: Any, response: Any) -> Any:
        other(response)
        return signed(request, response)

    def carry(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        with monkeypatch.context() as patched:
            if url.endswith(ending):
                patched.setattr(signed_views, "_sign", sign)
            return reached(method, url, headers, body)

    return carry
