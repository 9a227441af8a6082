"""The trusted logs and witnesses, and how many of these must have signed (C2SP, tlog-policy)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import WitnessSignature, cosigned
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, NoteError, VerifierKey

LONGEST_POLICY = 64 * 1024
"""Bytes of a file."""

MOST_LINES = 1_000
NO_QUORUM = "none"


class PolicyError(ValueError):
    """A policy file that is malformed; the message names the line."""


class QuorumError(NoteError):
    """A checkpoint that too few witnesses have signed."""


@dataclass(frozen=True)
class Witness:
    """A witness that the policy knows.

    Attributes:
        key: of type `COSIGNATURE`.
        url: its address; empty if the file has none.
    """

    key: VerifierKey
    url: str = ""


@dataclass(frozen=True)
class Group:
    """Counts as a witness if `threshold` of its members, witnesses or groups, do, 1 to all."""

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True)
class Policy:
    """What a checkpoint must be signed by.

    Attributes:
        logs: keys; one of them must have signed.
        witnesses, groups: by their names in the file.
        quorum: name of the witness or group that must have signed; `none` for no witness.
    """

    logs: tuple[VerifierKey, ...]
    witnesses: Mapping[str, Witness]
    groups: Mapping[str, Group]
    quorum: str

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read a policy file.

        Raises:
            PolicyError: names the first line that is not as it must be.
        """
        return cls(*_Reading().read(content))

    def encode(self) -> bytes:
        """An equivalent file, without the comments of the original."""
        lines = [f"log {log.text}".encode() for log in self.logs]
        for name, witness in self.witnesses.items():
            words = (name.encode("latin-1"), witness.key.text.encode(), witness.url.encode("latin-1"))
            lines.append(b"witness " + b" ".join(words).rstrip())
        for name, group in self.groups.items():
            members = " ".join(group.members)
            lines.append(f"group {name} {group.threshold} {members}".encode("latin-1"))
        lines.append(f"quorum {self.quorum}".encode("latin-1"))
        return b"".join(line + b"\n" for line in lines)

    def accepted(self, encoded: bytes, *, latest: int | None = None) -> "WitnessedCheckpoint":
        """A checkpoint that meets this policy.

        Args:
            latest: seconds since 1970; a witness's signature of a later time does not count. None if no
                clock is asked.

        Raises:
            NoteError: malformed, signed by no log that is known, or a signature of a known key does not hold.
            QuorumError: too few witnesses have signed.
        """
        checkpoint, note = checkpoints.opened(encoded, self.logs)
        found = {name: cosigned(note, witness.key) for name, witness in self.witnesses.items()}
        by_anybody = {name: one for name, one in found.items() if one is not None}
        signed = {name: one for name, one in by_anybody.items() if latest is None or one.time <= latest}
        if not self.is_met(frozenset(signed)):
            known = ", ".join(sorted(signed)) or "none"
            early = ", ".join(sorted(set(by_anybody) - set(signed)))
            why = f"; signed at a time that has not come yet, so a clock is wrong: {early}" if early else ""
            raise QuorumError(f"the quorum {self.quorum} is not reached; witnesses that signed: {known}{why}")
        return WitnessedCheckpoint(checkpoint, tuple(signed[name] for name in sorted(signed)))

    def is_met(self, signed: frozenset[str]) -> bool:
        """Whether these witnesses are enough."""
        return self.quorum == NO_QUORUM or self._has_signed(self.quorum, signed)

    def _has_signed(self, name: str, signed: frozenset[str]) -> bool:
        group = self.groups.get(name)
        if group is None:
            return name in signed
        return sum(self._has_signed(member, signed) for member in group.members) >= group.threshold


@dataclass(frozen=True)
class WitnessedCheckpoint:
    """A checkpoint that meets a policy, and the witnesses that signed it."""

    checkpoint: Checkpoint
    witnesses: tuple[WitnessSignature, ...]


@dataclass
class _Reading:
    """A partly parsed policy file."""

    logs: list[VerifierKey] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    grouped: set[str] = field(default_factory=set)
    quorum: str | None = None

    def read(
        self, content: bytes
    ) -> tuple[tuple[VerifierKey, ...], Mapping[str, Witness], Mapping[str, Group], str]:
        for number, words in _lines(content):
            keyword, *rest = words
            statement = _STATEMENTS.get(keyword)
            try:
                if statement is None:
                    raise PolicyError(f"must begin with {', '.join(_STATEMENTS)}, not {keyword}")
                statement(self, rest)
            except (PolicyError, NoteError) as error:
                raise PolicyError(f"line {number}: {error}") from None
        if self.quorum is None:
            raise PolicyError("a policy must have a line: quorum NAME")
        return tuple(self.logs), self.witnesses, self.groups, self.quorum

    def add_log(self, words: list[str]) -> None:
        if len(words) not in (1, 2):
            raise PolicyError("must be: log VKEY [URL]")
        key = _key(words[0], ED25519, "a log")
        if any(key.key == other.key for other in self.logs):
            raise PolicyError("names a log's key twice")
        self.logs.append(key)

    def add_witness(self, words: list[str]) -> None:
        if len(words) not in (2, 3):
            raise PolicyError("must be: witness NAME VKEY [URL]")
        name, text, *url = words
        self._require_new(name)
        key = _key(text, COSIGNATURE, "a witness")
        if any(key.key == other.key.key for other in self.witnesses.values()):
            raise PolicyError("names a witness's key twice")
        self.witnesses[name] = Witness(key, *url)

    def add_group(self, words: list[str]) -> None:
        if len(words) < 3:
            raise PolicyError("must be: group NAME all|any|NUMBER MEMBER …")
        name, rule, *members = words
        self._require_new(name)
        for member in members:
            self._require_known(member)
            if member in self.grouped:
                raise PolicyError(f"{member} is a member already")
            self.grouped.add(member)
        self.groups[name] = Group(_threshold(rule, len(members)), tuple(members))

    def set_quorum(self, words: list[str]) -> None:
        if len(words) != 1 or self.quorum is not None:
            raise PolicyError("there must be one line: quorum NAME")
        if words[0] != NO_QUORUM:
            self._require_known(words[0])
        self.quorum = words[0]

    def _require_new(self, name: str) -> None:
        if name == NO_QUORUM or name in self.witnesses or name in self.groups:
            raise PolicyError(f"{name} is a name already")

    def _require_known(self, name: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise PolicyError(f"{name} is no witness or group of a line before")


_STATEMENTS: Mapping[str, Callable[[_Reading, list[str]], None]] = {
    "log": _Reading.add_log,
    "witness": _Reading.add_witness,
    "group": _Reading.add_group,
    "quorum": _Reading.set_quorum,
}


def _lines(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line with content."""
    if len(content) > LONGEST_POLICY or content.count(b"\n") > MOST_LINES:
        raise PolicyError(f"a policy must have at most {LONGEST_POLICY} bytes and {MOST_LINES} lines")
    # Names are opaque bytes: one character for each.
    text = content.decode("latin-1")
    for number, line in enumerate(text.split("\n"), start=1):
        if any((character < " " and character != "\t") or character == "\x7f" for character in line):
            raise PolicyError(f"line {number}: must not have control characters")
        words = [word for word in line.replace("\t", " ").split(" ") if word]
        if words and not words[0].startswith("#"):
            yield number, words


def _key(text: str, kind: int, whose: str) -> VerifierKey:
    try:
        # Names of keys are UTF-8, unlike names of witnesses.
        key = VerifierKey.parse(text.encode("latin-1").decode())
    except UnicodeDecodeError:
        raise PolicyError("a verifier key must be UTF-8") from None
    if key.kind != kind:
        raise PolicyError(f"the key of {whose} must be of type {kind}, not {key.kind}")
    return key


def _threshold(rule: str, members: int) -> int:
    if rule in ("any", "all"):
        return 1 if rule == "any" else members
    if not (rule.isascii() and rule.isdecimal()) or not 1 <= int(rule[:9]) <= members or rule[0] == "0":
        raise PolicyError(f"the number must be any, all or 1 to {members}, not {rule}")
    return int(rule)
