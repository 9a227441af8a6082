"""The inner-product counter: what streams can do under continual intrusion, and sketches not (PPS section 7).

Participants of the first part vote on the entries of a binary vector V of length m, each with one bit for one
entry. Those of the second part have a binary vector X each; wanted is for how many the inner product ⟨V, X⟩
over GF(2) is 1. The function of X is only known once V is: that is what a sketch, made without V, lacks.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.estimate import Estimate
from panprivacy.mechanisms.randomized_response import RandomizedResponse
from panprivacy.parameters import EPSILON, PublicParameters, described
from panprivacy.streams.interface import CONFIDENCE, require_confidence
from panprivacy.streams.state import StreamState
from panprivacy.trust_models.curator import Curator


@dataclass(frozen=True, kw_only=True)
class InnerProductParameters(PublicParameters):
    """The strength of the randomized responses, and the length of V."""

    epsilon: float = described(**EPSILON)
    length: int = described(
        label="Length (m)",
        help="Number of entries of the vector that is voted on.",
        minimum=1,
        maximum=1_000_000,
    )


class InnerProductCounter:
    """Every participant's bit passes randomized response before it is counted: there is no secret state.

    State: `votes` of shape (m, 2) and `answers` of shape (2,), how often 0 and 1 came after randomization.
    Each participant takes part once; neighbouring streams differ in one participant's bit or vector. It is
    public who takes part, in which part and for which entry, as in section 7: the counts show it.
    """

    def __init__(self, parameters: InnerProductParameters) -> None:
        self.parameters = parameters
        self._response = RandomizedResponse(parameters.epsilon)

    def start(self) -> StreamState:
        """The state before the first participant."""
        return StreamState(
            "inner_product",
            arrays={
                "votes": np.zeros((self.parameters.length, 2), dtype=np.int64),
                "answers": np.zeros(2, dtype=np.int64),
            },
        )

    def process_vote(self, state: StreamState, entry: int, bit: int, random_source: random.Random) -> None:
        """Take in a participant of the first part.

        Raises:
            ValueError: the second part has begun; the vector has no such entry; or `bit` is neither 0 nor 1.
        """
        if state.arrays["answers"].any():
            raise ValueError("the vector is fixed once the second part has begun")
        if not 0 <= entry < self.parameters.length:
            raise ValueError(f"an entry must be 0 to {self.parameters.length - 1}, not {entry}")
        if bit not in (0, 1):
            raise ValueError(f"a bit must be 0 or 1, not {bit!r}")
        state.arrays["votes"][entry, self._response.respond(bit, random_source)] += 1

    def vector(self, state: StreamState) -> NDArray[np.int64]:
        """V: for each entry the majority of the randomized votes, 0 where they are equal."""
        votes = state.arrays["votes"]
        return (votes[:, 1] > votes[:, 0]).astype(np.int64)

    def process_vector(self, state: StreamState, vector: Sequence[int], random_source: random.Random) -> None:
        """Take in a participant of the second part; ValueError unless the vector has m entries of 0 or 1."""
        entries = np.asarray(vector, dtype=np.int64)
        if entries.shape != (self.parameters.length,) or not np.isin(entries, (0, 1)).all():
            raise ValueError(f"a vector must have {self.parameters.length} entries of 0 or 1")
        product = int(entries @ self.vector(state)) % 2
        state.arrays["answers"][self._response.respond(product, random_source)] += 1

    def estimate(self, state: StreamState, confidence: float = CONFIDENCE) -> Estimate:
        """For how many participants of the second part ⟨V, X⟩ is 1, unbiased, for the V of `vector`.

        No noise is added: the state has all that it needs. `details` has V, the number of participants, and
        a bound on the probability that any entry of V is wrong although two thirds of its votes agree (the
        margin of section 7; Hoeffding's inequality and a union bound).
        """
        require_confidence(confidence)
        answers = state.arrays["answers"]
        participants = int(answers.sum())
        value = self._response.debiased(int(answers[1]), participants)
        spread = math.sqrt(participants * math.log(2 / (1 - confidence)) / 2)
        return Estimate(
            values=(value,),
            standard_errors=(math.sqrt(participants * self._response.variance),),
            standard_error_note="Includes the randomization of the answers; that of the votes may change V.",
            projection=(min(max(value, 0.0), float(participants)),),
            error_bounds=(spread / self._response.keep_probability,),
            confidence=confidence,
            details={
                "vector": self.vector(state).tolist(),
                "participants": participants,
                "vector_failure_probability": self._vector_failure_probability(state),
            },
        )

    def _vector_failure_probability(self, state: StreamState) -> float:
        """Of two thirds against one, randomized votes show a lead of a sixth of `keep_probability` each."""
        margin = self._response.keep_probability / 6
        votes = state.arrays["votes"].sum(axis=1)
        return min(1.0, float(np.exp(-2 * votes * margin**2).sum()))

    def guarantee(self) -> Guarantee:
        """ε for everybody's bit or vector, against readers of the state at all times."""
        return Guarantee(
            model=Model.PAN,
            relation=Relation.RECORD,
            epsilon=self.parameters.epsilon,
            delta=0.0,
            source="Randomized response before anything is kept (PPS section 7); holds under continual "
            "intrusion.",
            assumption="each participant contributing one bit or one vector, and on it being public which "
            "of the two, and for which entry",
            trust=Curator.trust,
        )
