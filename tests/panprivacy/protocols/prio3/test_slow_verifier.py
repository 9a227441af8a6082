from panprivacy.protocols.prio3.slow_verifier import SlowVerifier
from tests.panprivacy.protocols.prio3.contract import VerifierContract


class TestSlowVerifier(VerifierContract):
    verifier_class = SlowVerifier
