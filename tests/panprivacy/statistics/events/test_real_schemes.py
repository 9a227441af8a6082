"""The contract of mechanisms once more, on real ciphertexts."""

import functools
import random

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.events.regular import RegularQuestion
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.encryption.tables import with_tables
from tests.panprivacy.statistics.events.contract import CiphertextContract
from tests.statistic_members import small_members

SHARED = {"steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 50, "k": 2}


COUNTERS = [one for one in MECHANISMS.values() if not issubclass(one, RegularQuestion)]
"""Those of LPP; regular questions are on real ciphertexts in `test_regular`."""


class WithTables:
    """A private key whose public half has tables: the same results (tests/panprivacy/encryption), sooner."""

    def __init__(self, private_key):
        self.public_key = with_tables(private_key.public_key)
        self.decrypt = private_key.decrypt


@functools.cache
def key_of(scheme):
    return WithTables(generate_private_key(scheme, random.Random(5)))


class TestRealSchemes(CiphertextContract):
    @pytest.fixture(params=ONE_PER_FILE)
    def private_key(self, request):
        return key_of(request.param)

    @pytest.fixture(params=COUNTERS, ids=lambda statistic: statistic.statistic)
    def mechanism(self, request):
        statistic = request.param
        members = small_members(statistic, **SHARED)
        return statistic(statistic.parameters_class.from_mapping(members).calibrated())
