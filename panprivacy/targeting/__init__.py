"""Asking a part of the population, of which only the devices know whether they are in it (SAA, 5.5).

`attributes` are what a population declares, `target` is the condition, `citation` names the evidence that
many devices meet it, `evidence` reads it, `sizes` weighs it. `panprivacy.asked_target` is the member of
recipes. Why it is so stands in docs/adr/0027-targets-rest-on-released-counts.md.
"""

__all__ = ["attributes", "citation", "evidence", "sizes", "target"]
