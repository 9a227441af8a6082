"""Numbers that `reproduce` computed, as they are stored."""

from panprivacy.accounting.guarantees import Relation
from research.reproduction import results


def reproduced(place: str, start: str, relation: Relation, method: str = "") -> float:
    """A number of `reproduce`, by where it stands, how its name begins, and what its method has in it."""
    [found] = {
        claim["computed"]
        for claim in results.committed()["claims"]
        if claim["place"] == place
        and claim["quantity"].startswith(start)
        and claim["relation"] == relation
        and method in claim["method"]
    }
    return float(found)
