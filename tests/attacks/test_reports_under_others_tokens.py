"""A server puts bits of its own under the tokens that devices sent it.

The leader reads each report with its token before the list is agreed. If it could put others under the
tokens, it would have the result that it wants. With a copy of one device's state under all tokens it would
read that device's bit, behind no coin and no other report. A token's nonce is a key with which the device
signs its report, so each of these is refused. A token that an intruder reads on its device counts, once.
"""

import random

import pytest

from panprivacy.recipe.accepted_list import SHOWN_BYTES, ListRefusedError, joint_key_of, part_checked
from tests.panprivacy.recipe.joint_key_scene import joint_recipe

SOURCE = random.Random(3838)
JOINT = joint_recipe(SOURCE)


@pytest.mark.parametrize("bit", [0, 1])
def test_copied_state_under_the_tokens_of_others_is_refused(bit: int) -> None:
    key = joint_key_of(JOINT.recipe)
    state = key.encrypt(bit, SOURCE)
    (honest,) = JOINT.records(1, SOURCE)
    forged = honest[:SHOWN_BYTES] + bytes(key.rerandomize(state, SOURCE))
    with pytest.raises(ListRefusedError, match="report 1: the token is not one"):
        part_checked(JOINT.recipe, forged, first=1, after=b"", random_source=SOURCE)
    # With the device's seed it is accepted.
    own = JOINT.signed(bytes(key.rerandomize(state, SOURCE)), SOURCE)
    assert part_checked(JOINT.recipe, own, first=1, after=b"", random_source=SOURCE).reports == 1
