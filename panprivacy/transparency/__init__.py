"""Logs that everybody can check: Merkle trees, signed checkpoints, witnesses (RFC 6962, formats of C2SP).

`merkle` has trees and proofs, `tiles` how a tree is stored and served, `signed_note` and `checkpoint` what a
log signs, `cosignature` and `witnessing` what witnesses add, `proof` and `policy` what one needs to check an
entry offline. `checking` does so for recipes and results, `mirror` for a whole log, `conclusions` for the
results in it; `findings` is what they say. All else must not know recipes and results.

Randomness, clocks and keys are arguments. It must not know HTTP or databases.
"""

__all__ = [
    "checking",
    "checkpoint",
    "conclusions",
    "cosignature",
    "findings",
    "merkle",
    "mirror",
    "policy",
    "proof",
    "signed_note",
    "tiles",
    "witnessing",
]
