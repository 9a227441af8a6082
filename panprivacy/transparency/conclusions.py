"""The results in a whole log: what a proof of one entry cannot show."""

from panprivacy.transparency.findings import CheckError, json_object

RECORDED = "result_recorded"
CONCLUDED = ("result_released", "result_withheld", RECORDED)
"""Actions of the entries that speak of a result; `RECORDED` of an older one."""


class Conclusions:
    """The results in a whole log: of each recipe one, and none in place of another.

    Results from before they were signed have an entry without a hash. `result_recorded` follows it, once.
    """

    def __init__(self) -> None:
        self.hashes: dict[str, str | None] = {}
        """Recipe → hash of its result; None where there is an entry without it so far."""

    def add(self, action: object, subject: object, details: object) -> None:
        """Take the next entry of the log; CheckError where it replaces what is there."""
        if action not in CONCLUDED or not isinstance(subject, str):
            return
        digest = details.get("result") if isinstance(details, dict) else None
        known = self.hashes.get(subject)
        if subject in self.hashes and (known is not None or action != RECORDED or digest is None):
            raise CheckError(f"the log has two results of the recipe {subject}")
        self.hashes[subject] = digest

    def add_leaf(self, leaf: bytes) -> None:
        """The same from a leaf; one that no proof is accepted with says nothing of a result."""
        try:
            entry = json_object(leaf)
        except CheckError:
            return
        self.add(entry.get("action"), entry.get("subject"), entry.get("details"))
