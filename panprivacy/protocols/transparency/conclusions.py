"""The results in a whole log: what a proof of one entry cannot show."""

from panprivacy.protocols.transparency.findings import CheckError, json_object

CONCLUDED = ("result_released", "result_withheld")
"""Actions of the entries that speak of a result."""


class Conclusions:
    """The results in a whole log: of each recipe one, and none in place of another."""

    def __init__(self) -> None:
        self.hashes: dict[str, str | None] = {}
        """Recipe → hash of its result; None if its entry has none."""

    def add(self, action: object, subject: object, details: object) -> None:
        """Take the next entry of the log; CheckError if it replaces what is there."""
        if action not in CONCLUDED or not isinstance(subject, str):
            return
        digest = details.get("result") if isinstance(details, dict) else None
        if subject in self.hashes:
            raise CheckError(f"the log has two results of the recipe {subject}")
        self.hashes[subject] = digest

    def add_leaf(self, leaf: bytes) -> None:
        """The same from a leaf; a leaf that no proof is accepted with has no result."""
        try:
            entry = json_object(leaf)
        except CheckError:
            return
        self.add(entry.get("action"), entry.get("subject"), entry.get("details"))
