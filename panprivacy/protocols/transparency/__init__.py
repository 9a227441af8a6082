"""Public, verifiable logs: Merkle trees, signed checkpoints, witnesses (RFC 6962, formats of C2SP).

`merkle` has trees and proofs, `tiles` how a tree is stored and served, `signed_note` and `checkpoint` what a
log signs, `cosignature` and `witnessing` what witnesses add, `proof` and `policy` the inputs of an offline
check of an entry. `findings` is the output of a check, `conclusions` what it says of results. `recipe.log`
checks recipes and results.

Randomness, clocks and keys are arguments. It must not know HTTP or databases.
"""

__all__ = [
    "checkpoint",
    "conclusions",
    "cosignature",
    "findings",
    "merkle",
    "policy",
    "proof",
    "signed_note",
    "tiles",
    "witnessing",
]
