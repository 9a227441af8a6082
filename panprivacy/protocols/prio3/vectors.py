"""Official test vectors, step by step (VDAF draft 20, appendix "Test Vectors")."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.vector_files import VectorError, read_json, require_equal, short
from panprivacy.protocols.prio3 import xof
from panprivacy.protocols.prio3.field import FIELD128
from panprivacy.protocols.prio3.interface import InvalidShareError, VerificationError
from panprivacy.protocols.prio3.prio3 import Prio3
from panprivacy.protocols.prio3.vector_vdafs import VDAFS, XOF, Vector, name_of

_REFUSALS = (InvalidShareError, VerificationError, FieldError)

MOST_ELEMENTS = 100_000
"""Longest vector that is checked: a file that asks for more asks for all the memory there is."""

_LENGTHS = ("length", "chunk_length", "max_weight", "shares")
_POSITIONS = ("report_index", "aggregator_id", "round")


def check_file(path: Path) -> None:
    """Check everything in a file of test vectors.

    Raises:
        VectorError: the file is unreadable, of nothing that is known here, or does not hold.
    """
    vector = read_json(path)
    if not isinstance(vector, dict):
        raise VectorError("must be a JSON object")
    name = name_of(path.stem, vector)
    if name is None:
        known = ", ".join([*VDAFS, XOF])
        raise VectorError(f"is neither named after one of {known}, nor are its fields those of one")
    try:
        _require_small(vector)
        if name == XOF:
            _check_xof(vector)
        else:
            _Run(VDAFS[name](vector), vector).check()
    except KeyError as error:
        raise VectorError(f"lacks the field {error.args[0]!r}") from error
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise VectorError(f"has a field that is not as the schema has it: {error}") from error


class _Run:
    """One vector's operations, in their order, and what stays between them."""

    def __init__(self, vdaf: Prio3[Any], vector: Vector) -> None:
        self.vdaf = vdaf
        self.vector = vector
        self.context = bytes.fromhex(vector["ctx"])
        self.verify_key = bytes.fromhex(vector["verify_key"])
        self.states: dict[tuple[int, int], bytes] = {}
        self.steps: dict[str, Callable[[Vector], None]] = {
            "shard": self._shard,
            "verify_init": self._verify_init,
            "verifier_shares_to_message": self._verifier_shares_to_message,
            "verify_next": self._verify_next,
            "aggregate": self._aggregate,
            "unshard": self._unshard,
        }

    def check(self) -> None:
        if self.vector["agg_param"] != "":
            raise VectorError("agg_param: Prio3 has no aggregation parameter")
        operations = self.vector["operations"]
        if not operations:
            raise VectorError("operations: there are none, so that nothing is checked")
        for number, operation in enumerate(operations):
            name = operation["operation"]
            if name not in self.steps:
                raise VectorError(f"operation {number}: {name!r} is unknown")
            if not isinstance(operation["success"], bool):
                raise VectorError(f"operation {number}: success must be true or false")
            for member in _POSITIONS:
                # Below 0, Python would count from the end.
                if operation.get(member, 0) < 0:
                    raise VectorError(f"operation {number}: {member} must be at least 0")
            try:
                self._step(name, operation)
            except VectorError as error:
                raise VectorError(f"operation {number} ({_words(operation)}): {error}") from error

    def _step(self, name: str, operation: Vector) -> None:
        try:
            self.steps[name](operation)
        except _REFUSALS as error:
            if operation["success"]:
                raise VectorError(f"was refused: {error}") from error
        else:
            if not operation["success"]:
                raise VectorError("must be refused, and was not")

    def _report(self, operation: Vector) -> Vector:
        report: Vector = self.vector["reports"][operation["report_index"]]
        return report

    def _shard(self, operation: Vector) -> None:
        report = self._report(operation)
        public_share, input_shares = self.vdaf.shard(
            self.context,
            report["measurement"],
            bytes.fromhex(report["nonce"]),
            bytes.fromhex(report["rand"]),
        )
        if operation["success"]:
            require_equal("public share", public_share.hex(), report["public_share"])
            require_equal("input shares", [share.hex() for share in input_shares], report["input_shares"])

    def _verify_init(self, operation: Vector) -> None:
        report, aggregator = self._report(operation), operation["aggregator_id"]
        state, verifier_share = self.vdaf.verify_init(
            self.verify_key,
            self.context,
            aggregator,
            bytes.fromhex(report["nonce"]),
            bytes.fromhex(report["public_share"]),
            bytes.fromhex(report["input_shares"][aggregator]),
        )
        self.states[operation["report_index"], aggregator] = state
        if operation["success"]:
            require_equal("verifier share", verifier_share.hex(), report["verifier_shares"][0][aggregator])

    def _verifier_shares_to_message(self, operation: Vector) -> None:
        report, number = self._report(operation), operation["round"]
        shares = [bytes.fromhex(share) for share in report["verifier_shares"][number]]
        message = self.vdaf.verifier_shares_to_message(self.context, shares)
        if operation["success"]:
            require_equal("verifier message", message.hex(), report["verifier_messages"][number])

    def _verify_next(self, operation: Vector) -> None:
        report, aggregator = self._report(operation), operation["aggregator_id"]
        state = self.states.get((operation["report_index"], aggregator))
        if state is None:
            raise VectorError("comes before its verify_init")
        if operation["round"] != 1:
            raise VectorError(f"Prio3 has one round, so round must be 1, not {operation['round']}")
        message = bytes.fromhex(report["verifier_messages"][operation["round"] - 1])
        out_share = self.vdaf.verify_next(state, message)
        if operation["success"]:
            require_equal("output share", out_share.hex(), report["out_shares"][aggregator])

    def _aggregate(self, operation: Vector) -> None:
        aggregator = operation["aggregator_id"]
        shares = [bytes.fromhex(report["out_shares"][aggregator]) for report in self.vector["reports"]]
        total = self.vdaf.aggregate(shares)
        if operation["success"]:
            require_equal("aggregate share", total.hex(), self.vector["agg_shares"][aggregator])

    def _unshard(self, operation: Vector) -> None:
        result = self.vdaf.unshard([bytes.fromhex(share) for share in self.vector["agg_shares"]])
        expected = self.vector["agg_result"]
        if operation["success"]:
            require_equal("result", list(result), expected if isinstance(expected, list) else [expected])


def _require_small(vector: Vector) -> None:
    for member in _LENGTHS:
        if vector.get(member, 0) > MOST_ELEMENTS:
            raise VectorError(f"{member}: must be at most {MOST_ELEMENTS}, not {short(vector[member])}")


def _check_xof(vector: Vector) -> None:
    seed, dst, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    require_equal("derived seed", xof.derive_seed(seed, dst, binder).hex(), vector["derived_seed"])
    elements = xof.expand_into_vec(FIELD128, seed, dst, binder, vector["length"])
    require_equal("field elements", FIELD128.encode(elements).hex(), vector["expanded_vec_field128"])


def _words(operation: Vector) -> str:
    words = [str(operation["operation"])]
    words += [
        f"{member.split('_')[0]} {operation[member]}"
        for member in ("report_index", "aggregator_id")
        if member in operation
    ]
    return ", ".join(words)
