"""The papers' numbers and figures, computed again, next to the printed ones.

`results` computes all of them and reads the stored ones.
"""

__all__ = ["results"]
