"""A recipe with a joint key as a device is served it, and in memory the server that takes its reports."""

import random
from collections.abc import Sequence
from dataclasses import replace

from panprivacy.device.transport import ServedRecipe
from panprivacy.encryption.interface import Ciphertext
from panprivacy.protocols.joint_key.groups import G1, G1Point
from panprivacy.protocols.joint_key.proven_bits import ProvenBit, all_hold
from panprivacy.protocols.joint_key.public_key import JointPublicKey
from panprivacy.recipe.accepted_list import joint_key_of
from tests.panprivacy.device.server import MemoryServer
from tests.panprivacy.device.two_servers import HELPER_KEY, HELPER_SIGNING_KEY
from tests.panprivacy.recipe.joint_key_scene import JointRecipe, joint_recipe


class BothHalves:
    """The secret key that no server has."""

    def __init__(self, joint: JointRecipe) -> None:
        self.public_key: JointPublicKey = joint_key_of(joint.recipe)
        self._secret = joint.secrets[0] + joint.secrets[1]

    def decrypt(self, ciphertext: Ciphertext, allowed: Sequence[int]) -> int:
        """A bit whose proof holds."""
        assert isinstance(ciphertext, ProvenBit)
        assert all_hold(self.public_key.joint, [ciphertext], random.Random(1))
        point = ciphertext.c[1] + -(ciphertext.c[0] * self._secret)
        found = {bytes(each.to_compressed_bytes()): bit for bit, each in enumerate((G1Point.identity(), G1))}
        bit = found[bytes(point.to_compressed_bytes())]
        assert bit in allowed
        return bit


class JointServer(MemoryServer):
    """The leader; its helper signed the recipe too."""

    def __init__(self, **changes: object) -> None:
        joint = joint_recipe(random.Random(384), helper_key=HELPER_KEY, simulation=True, **changes)
        super().__init__(joint.recipe, BothHalves(joint))

    @property
    def served(self) -> ServedRecipe:
        return replace(super().served, partner_signature=self.recipe.sign(HELPER_SIGNING_KEY))
