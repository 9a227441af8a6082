"""What the guarantees of several mechanisms rely on, in the same words everywhere."""

from panprivacy.accounting.guarantees import Guarantee, Model, Relation

FOLLOWS_PROTOCOL = "the device following the protocol, with unpredictable randomness"


def pan_privacy(theorem: str) -> Guarantee:
    """The guarantee against intruders on the device, which no (ε, δ) measures: encryption gives it."""
    return Guarantee(
        model=Model.PAN,
        relation=Relation.REPLACE,
        epsilon=None,
        delta=None,
        source=f"{theorem}; computational: up to an advantage that is negligible in the key's length.",
        assumption=(
            "the semantic security of the recipe's encryption scheme, on the intruder not holding the "
            "server's private key, not watching the device during a step, and not also "
            "sending copies of what is on the device as many reports of this recipe"
        ),
    )
