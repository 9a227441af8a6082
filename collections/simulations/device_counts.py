"""What simulated devices did, as a JSON column holds it."""

from collections import Counter
from typing import Any

from devices_sim.fleet_result import FleetResult


def as_json(result: FleetResult) -> dict[str, Any]:
    """Plain values; `of_json` is the inverse. `elapsed_seconds` is left out: it is known from the times."""
    return {
        "devices": result.devices,
        "outside": result.outside,
        "sampled": result.sampled,
        "accepted": result.accepted,
        "rejected": dict(result.rejected),
        # Answers are numbers, texts or pairs of both, which names of members could not tell apart.
        "answers": [
            [answer, devices, result.accepted_by_answer[answer]]
            for answer, devices in result.devices_by_answer.items()
        ],
        "took_part": sorted(result.took_part),
        "device_seconds": result.device_seconds,
        "submit_seconds": result.submit_seconds,
    }


def of_json(members: dict[str, Any]) -> FleetResult:
    """What `as_json` gave; nothing at all where the members are empty."""
    if not members:
        return FleetResult()
    answers = [
        (tuple(answer) if isinstance(answer, list) else answer, devices, accepted)
        for answer, devices, accepted in members["answers"]
    ]
    return FleetResult(
        devices=members["devices"],
        outside=members["outside"],
        sampled=members["sampled"],
        accepted=members["accepted"],
        rejected=Counter(members["rejected"]),
        devices_by_answer=Counter({answer: devices for answer, devices, _ in answers}),
        accepted_by_answer=Counter({answer: accepted for answer, _, accepted in answers if accepted}),
        took_part=set(members["took_part"]),
        device_seconds=members["device_seconds"],
        submit_seconds=members["submit_seconds"],
    )
