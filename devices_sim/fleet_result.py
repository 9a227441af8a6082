"""What a fleet of simulated devices did: counts and times, to be added up over processes."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class FleetResult:
    """What a fleet did, or has done so far.

    Attributes:
        devices: devices of the workload.
        outside: those outside of the recipe's target; nothing below is of them.
        sampled: those whose sampling coin let them take part; each made one report.
        accepted: reports that the server stored.
        rejected: the others, by reason.
        devices_by_answer: what is true of a device -> number of such devices. It is the count of events, or
            the value as text, over all devices that the recipe asks, sampled or not.
        accepted_by_answer: the same over those whose report was accepted.
        took_part: of a round, the names of the devices that were sampled.
        device_seconds: time spent making reports, added up over processes, reading the workload included.
        submit_seconds: time spent encoding batches and waiting for answers, added up over processes.
        elapsed_seconds: wall-clock time of the whole, start of processes included. With p
            processes, device_seconds + submit_seconds is at most about p times this.
    """

    devices: int = 0
    outside: int = 0
    sampled: int = 0
    accepted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    devices_by_answer: Counter[Any] = field(default_factory=Counter)
    accepted_by_answer: Counter[Any] = field(default_factory=Counter)
    took_part: set[str] = field(default_factory=set)
    device_seconds: float = 0.0
    submit_seconds: float = 0.0
    elapsed_seconds: float = 0.0

    def add(self, other: "FleetResult") -> None:
        """Take in what another process or bucket did; `elapsed_seconds` stays."""
        self.devices += other.devices
        self.outside += other.outside
        self.sampled += other.sampled
        self.accepted += other.accepted
        self.rejected += other.rejected
        self.devices_by_answer += other.devices_by_answer
        self.accepted_by_answer += other.accepted_by_answer
        self.took_part |= other.took_part
        self.device_seconds += other.device_seconds
        self.submit_seconds += other.submit_seconds
