"""The contract of mechanisms once more, on real ciphertexts."""

import functools
import random

import pytest

from panprivacy.encryption import SCHEMES, generate_private_key
from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.histogram import Histogram, HistogramParameters
from panprivacy.mechanisms.mean import Mean, MeanParameters
from panprivacy.parameters import Parameters
from tests.panprivacy.encryption.tables import with_tables
from tests.panprivacy.mechanisms.contract import MechanismContract

SHARED = {"steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 50}


class WithTables:
    """A private key whose public half has tables: the same results (tests/panprivacy/encryption), sooner."""

    def __init__(self, private_key):
        self.public_key = with_tables(private_key.public_key)
        self.decrypt = private_key.decrypt


@functools.cache
def key_of(scheme):
    return WithTables(generate_private_key(scheme, random.Random(5)))


class TestRealSchemes(MechanismContract):
    @pytest.fixture(params=["elgamal-secp256k1", "paillier-2048"])
    def private_key(self, request):
        return key_of(request.param)

    @pytest.fixture(params=["count_nonzero", "histogram", "mean"])
    def mechanism(self, request):
        return {
            "count_nonzero": lambda: CountNonzero(Parameters(**SHARED)),
            "histogram": lambda: Histogram(HistogramParameters(**SHARED, k=2)),
            "mean": lambda: Mean(MeanParameters(**SHARED, k=2, guarantee="local").calibrated()),
        }[request.param]()

    def test_every_registered_scheme_is_known_here(self):
        # paillier-3072 is paillier-2048 with longer keys; its suite is in tests/panprivacy/encryption.
        assert set(SCHEMES) == {"elgamal-secp256k1", "paillier-2048", "paillier-3072"}
