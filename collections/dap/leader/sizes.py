"""How large one aggregation job is, so that neither side takes long over it.

A report is a few hundred bytes, or a histogram of pan-private ciphertexts of many thousands. What it
costs to open and verify follows its length: about 1 µs a byte for Prio3 and for ElGamal ciphertexts, 5 µs
for Paillier. So a limit in bytes is a limit in seconds: about ten, well below every time limit.
"""

JOB_BYTES = 2 * 1024 * 1024
"""Encoded reports of one aggregation job, at most, unless a single one is longer."""
