"""Recipes with a joint key, with both servers' secrets, and their reports."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from panprivacy.device.tokens import token_drawn
from panprivacy.protocols.joint_key import keys
from panprivacy.protocols.joint_key.groups import Scalar
from panprivacy.recipe.accepted_list import joint_key_of, record_nonce
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.token import token_shown
from panprivacy.statistics.events.interface import Mechanism
from panprivacy.statistics.trust_models.joint_key import (
    ROLES,
    JointKeyServers,
    document_context,
    role_context,
)
from tests.panprivacy.recipe.scene import NOW, drafted
from tests.tokens import STRANGERS_KEY, issued_token, token_admission


@dataclass(frozen=True)
class JointRecipe:
    """A published recipe, and the two secrets with which its servers decrypt."""

    recipe: PublishedRecipe
    secrets: tuple[Scalar, Scalar]

    def report(self, count: int, source: random.Random) -> bytes:
        """What the list has of a device with this count: token and report."""
        mechanism = self.recipe.calibrated_statistic
        assert isinstance(mechanism, Mechanism)
        (bit,) = mechanism.report_of_count(joint_key_of(self.recipe), count, source)
        return self.signed(bytes(bit), source)

    def signed(self, bit: bytes, source: random.Random) -> bytes:
        """The same of a device that sends this."""
        state = token_drawn(self.recipe, source, now=NOW)
        token = issued_token(self.recipe, source, nonce=state.nonce).encode()
        return token_shown(token, state.seed, [bit]) + bit

    def records(self, number: int, source: random.Random) -> list[bytes]:
        """Reports of this number of devices, half with an event, in the order of the list."""
        made = [self.report(place % 2, source) for place in range(number)]
        return sorted(made, key=record_nonce)


def joint_recipe(
    source: random.Random, *, helper_key: bytes = STRANGERS_KEY, simulation: bool = False, **changes: Any
) -> JointRecipe:
    """A recipe of this draft."""
    draft = drafted(trust="joint_key", **changes)
    return halves_made(
        lambda servers: draft.publish(servers, NOW, simulation=simulation, admission=token_admission()),
        JointKeyServers.blank("https://helper.example/helper", helper_key),
        source,
    )


def halves_made(
    published: Callable[[JointKeyServers], PublishedRecipe], blank: JointKeyServers, source: random.Random
) -> JointRecipe:
    """Both servers' halves made in one place.

    Args:
        published: the same recipe each time, but for its servers.
    """
    context = document_context(published(blank).document)
    contexts = [role_context(context, role) for role in ROLES]
    (leader, first), (helper, second) = (keys.key_half(each, source) for each in contexts)
    u1, v1 = keys.key_bases([leader, helper])
    own, other = (keys.string_half(each, u1, v1, source).encode() for each in contexts)
    servers = replace(blank, keys=(leader.encode(), helper.encode()), strings=(own, other))
    return JointRecipe(published(servers), (first, second))
