"""From stored reports to one sum, exactly once; only here recipes' private keys are unsealed.

Others call `tasks` (have the sum made) and `operations` (how far it is, read it, forget it); metrics read
`models`.

It must not know what a sum is for: neither releases nor trust models.
"""

__all__ = ["models", "operations", "tasks"]
