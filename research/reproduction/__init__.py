"""The papers' numbers and figures, computed again beside what is printed.

`results` computes all of them and reads the stored ones.
"""

__all__ = ["results"]
