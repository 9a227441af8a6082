import random

import pytest

from tests.panprivacy.statistics.events.contract import full, run
from tests.panprivacy.statistics.events.transparent import TransparentPublicKey


@pytest.fixture
def transparent_report():
    """Make a report of a device with one event, under the transparent scheme."""

    def make(mechanism):
        source, public_key = random.Random(1), TransparentPublicKey()
        state = run(mechanism, public_key, full(mechanism, (0, 1)), source)
        return mechanism.report(public_key, state, source)

    return make
