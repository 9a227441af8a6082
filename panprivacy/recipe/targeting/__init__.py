"""Asking a part of the population if only the devices know whether they are in it (SAA, 5.5).

`attributes` are what a population declares, `target` is the condition, `citation` names the evidence that
many devices meet it, `evidence` reads it, `sizes` weighs it. `panprivacy.recipe.parts.target` is the field of
recipes. The reasons are in docs/adr/0010-targets-rest-on-released-counts.md.
"""

__all__ = ["attributes", "citation", "evidence", "sizes", "target"]
