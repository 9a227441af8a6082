"""Prio3: secret shares of a measurement with a proof that it is valid (VDAF draft 20, section 7).

The definition goes report by report and follows the draft (`prio3`, `SlowVerifier`); `Prio3Verifier`
does the same for batches. This room knows nothing of tasks, messages or encryption.

Neither runs in constant time, as section 9.10 of the draft asks: the time that Python's integers and NumPy's
masks take depends on their values. So an observer of fine timings on the same machine could learn about
measurements, shares or the verification key.
"""

from panprivacy.prio3.interface import (
    InexactSumError,
    InvalidShareError,
    Prepared,
    Rejected,
    ReportInput,
    VerificationError,
    Verifier,
)
from panprivacy.prio3.prio3 import (
    NONCE_SIZE,
    VERIFY_KEY_SIZE,
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)
from panprivacy.prio3.slow_verifier import ContextOf, SlowVerifier
from panprivacy.prio3.verifier import Prio3Verifier

__all__ = [
    "NONCE_SIZE",
    "VERIFY_KEY_SIZE",
    "ContextOf",
    "InexactSumError",
    "InvalidShareError",
    "Prepared",
    "Prio3",
    "Prio3Count",
    "Prio3Histogram",
    "Prio3MultihotCountVec",
    "Prio3Sum",
    "Prio3SumVec",
    "Prio3Verifier",
    "Rejected",
    "ReportInput",
    "SlowVerifier",
    "VerificationError",
    "Verifier",
]
