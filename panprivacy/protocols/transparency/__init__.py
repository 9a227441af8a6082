"""Public, verifiable logs: Merkle trees, signed checkpoints, witnesses (RFC 6962, formats of C2SP).

`merkle` has trees and proofs, `tiles` how a tree is stored and served, and `signed_note` and `checkpoint`
what a log signs. `cosignature` and `witnessing` have what witnesses add. `proof` and `policy` are the inputs
of an offline check of an entry. `findings` is the output of a check, `conclusions` what follows for results.
`recipe.log` checks recipes and results.

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
