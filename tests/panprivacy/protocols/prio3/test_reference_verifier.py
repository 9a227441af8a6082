from panprivacy.protocols.prio3.reference_verifier import ReferenceVerifier
from tests.panprivacy.protocols.prio3.contract import VerifierContract


class TestReferenceVerifier(VerifierContract):
    verifier_class = ReferenceVerifier
