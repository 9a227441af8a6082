"""Prio3: secret shares of a measurement with a proof that it is valid (VDAF draft 20, section 7).

The definition goes report by report and follows the draft (`prio3`, `ReferenceVerifier`); `Prio3Verifier`
does the same for batches. This package knows nothing of tasks, messages or encryption.

Neither runs in constant time, which section 9.10 of the draft requires: the time that Python's integers and
NumPy's masks take depends on their values. So an observer of fine timings on the same machine could learn
about measurements, shares or the verification key.
"""
