"""The contract of mechanisms once more, on real ciphertexts."""

import functools
import random

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.histogram import Histogram, HistogramParameters
from panprivacy.mechanisms.mean import Mean, MeanParameters
from panprivacy.parameters import Parameters
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.mechanisms.contract import MechanismContract

SHARED = {"steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 50}


@functools.cache
def key_of(scheme):
    return generate_private_key(scheme, random.Random(5))


class TestRealSchemes(MechanismContract):
    @pytest.fixture(params=ONE_PER_FILE)
    def private_key(self, request):
        return key_of(request.param)

    @pytest.fixture(params=["count_nonzero", "histogram", "mean"])
    def mechanism(self, request):
        return {
            "count_nonzero": lambda: CountNonzero(Parameters(**SHARED)),
            "histogram": lambda: Histogram(HistogramParameters(**SHARED, k=2)),
            "mean": lambda: Mean(MeanParameters(**SHARED, k=2, guarantee="local").calibrated()),
        }[request.param]()
