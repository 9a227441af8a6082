"""From stored reports to one sum, exactly once; only here recipes' private keys are unsealed.

Others call `sums` (have the sum made, read it, forget it) and `selectors` (how far it is); metrics read
`models`.

It must not know what a sum is for: neither releases nor trust models.
"""

__all__ = ["models", "selectors", "sums"]
