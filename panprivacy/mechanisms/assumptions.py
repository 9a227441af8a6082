"""What the guarantees of several mechanisms rely on, in the same words everywhere."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.trust import Trust

FOLLOWS_PROTOCOL = "the device following the protocol, with randomness that nobody can predict"


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
            "server's private key, on nobody watching the device during a step, and on the intruder not "
            "also sending copies of what is on the device as many reports of this recipe"
        ),
    )


def under_trust(guarantees: Iterable[Guarantee], trust: Trust) -> tuple[Guarantee, ...]:
    """The guarantees of a mechanism as a recipe of this trust model gives them.

    Two servers change no number. They change whom each is stated against, and what that rests on.
    """
    adapt = _ADAPTED[trust]
    return tuple(
        replace(adapt.get(guarantee.model, _unchanged)(guarantee), trust=trust) for guarantee in guarantees
    )


def _unchanged(guarantee: Guarantee) -> Guarantee:
    return guarantee


def _two_server_aggregator(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source=f"{guarantee.source} Beside the result, either server alone sees uniformly random shares and "
        "proofs that tell nothing but whether a report is valid (Prio3, VDAF draft 20).",
        assumption=f"{guarantee.assumption}, that is, on the two servers not putting their shares together, "
        "and on neither of them filling the cohort with reports of its own making",
    )


def _two_server_sampled(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        assumption=f"{guarantee.assumption}; the leader, with which devices speak, is not such a reader",
    )


def _two_server_pan(guarantee: Guarantee) -> Guarantee:
    return replace(
        guarantee,
        source="LPP section 5, Algorithm 6; computational: up to an advantage that is negligible in the "
        "keys' length.",
        assumption=(
            "the semantic security of the recipe's encryption scheme, on the intruder colluding with neither "
            "server (with one, two looks at the device, or one and its report, tell whether the event "
            "happened in between), on nobody watching the device during a step, and on the intruder not also "
            "sending reports made from what is on the device"
        ),
    )


_ADAPTED: Mapping[Trust, Mapping[Model, Callable[[Guarantee], Guarantee]]] = {
    Trust.SINGLE_SERVER: {},
    Trust.SHUFFLER: {},
    Trust.CURATOR: {},
    Trust.TWO_SERVER: {
        Model.AGGREGATOR: _two_server_aggregator,
        Model.SAMPLED: _two_server_sampled,
        Model.PAN: _two_server_pan,
    },
}
