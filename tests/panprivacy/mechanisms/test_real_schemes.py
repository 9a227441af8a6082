"""The contract of mechanisms once more, on real ciphertexts."""

import functools
import random

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.mechanisms import MECHANISMS
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.mechanisms.contract import MechanismContract
from tests.statistic_members import small_members

SHARED = {"steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 50, "k": 2}


@functools.cache
def key_of(scheme):
    return generate_private_key(scheme, random.Random(5))


class TestRealSchemes(MechanismContract):
    @pytest.fixture(params=ONE_PER_FILE)
    def private_key(self, request):
        return key_of(request.param)

    @pytest.fixture(params=MECHANISMS.values(), ids=MECHANISMS)
    def mechanism(self, request):
        statistic = request.param
        members = small_members(statistic, **SHARED)
        return statistic(statistic.parameters_class.from_mapping(members).calibrated())
