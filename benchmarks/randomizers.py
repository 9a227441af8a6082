"""What leader and helper need for a randomizer's reports, as ratios to bare Prio3 in the same run.

Run from the repository's root: `python -m benchmarks.randomizers [--reports N]`. No process starts and no
database is used: a side opens its sealed shares (HPKE) and verifies them in batches of 1,000, as its workers
do. Bare is verification alone, of shares that are open. It prints, for each randomizer and side, microseconds
a report and the ratio, which must be at most 2.5. Exits with 1 if it is not.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Callable
from typing import Any

from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig, Role
from panprivacy.protocols.dap.client import seal_report, shard_measurement
from panprivacy.protocols.dap.hpke import Recipient, generate_keypair, open_input_share
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import InputShareAad
from panprivacy.protocols.dap.vdafs import verifier_for
from panprivacy.protocols.prio3.interface import ReportInput
from panprivacy.statistics.randomized import RANDOMIZERS

MOST_RATIO = 2.5
BATCH = 1_000
DIFFERENT = 20
"""This number of reports is made; they are verified again and again."""

CASES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "categories": ({"k": 100, "epsilon": 4.0, "delta": 1e-8, "cohort_size": 1_000}, ("7",)),
    "vector_mean": (
        {"dimension": 100, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000},
        ("0.05",) * 100,
    ),
}
"""Randomizer → its parameters, and the cells of a device's value."""


def task_of(randomizer: Any) -> TaskConfiguration:
    return TaskConfiguration(
        task_info=b"benchmark",
        leader_aggregator_endpoint="https://leader.example/leader",
        helper_aggregator_endpoint="https://helper.example/helper",
        time_precision=3_600,
        min_batch_size=randomizer.cohort_size,
        batch_mode=BatchMode.TIME_INTERVAL,
        batch_config=b"",
        vdaf_type=randomizer.vdaf_type,
        vdaf_configuration=randomizer.vdaf_message.encode(),
        extensions=(),
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def measured(name: str, reports: int) -> dict[str, tuple[float, float]]:
    """Side → seconds of bare verification, and of opening and verifying."""
    members, cells = CASES[name]
    randomizer_class = RANDOMIZERS[name]
    randomizer = randomizer_class(randomizer_class.parameters_class(**members).calibrated())
    configuration, task_id, source = task_of(randomizer), secrets.token_bytes(32), secrets.SystemRandom()
    keys: dict[Role, tuple[HpkeConfig, bytes]] = {
        role: generate_keypair(number, source) for number, role in enumerate((Role.LEADER, Role.HELPER))
    }
    value = randomizer.value_of(cells)
    made = [
        shard_measurement(
            task_id, configuration, randomizer.randomize(value, source), time=0, random_source=source
        )
        for _ in range(DIFFERENT)
    ]
    configs = [config for config, _ in keys.values()]
    sealed = [seal_report(one, task_id, configuration, *configs, source) for one in made]
    verify_key = secrets.token_bytes(32)
    leader, helper = (verifier_for(configuration, task_id, role, verify_key) for role in keys)
    times = dict.fromkeys(("leader", "helper", "leader opens", "helper opens"), 0.0)
    for start in range(0, reports, BATCH):
        count = min(BATCH, reports - start)
        batch = [index % DIFFERENT for index in range(count)]
        inputs: dict[str, list[ReportInput]] = {}
        for role, side in ((Role.LEADER, "leader"), (Role.HELPER, "helper")):

            def opened(role: Role = role, side: str = side, batch: list[int] = batch) -> list[ReportInput]:
                recipient = Recipient(*keys[role])  # one for a batch, as workers have
                found = []
                for index in batch:
                    report = sealed[index]
                    aad = InputShareAad(task_id, configuration, report.report_metadata, report.public_share)
                    box = getattr(report, f"{side}_encrypted_input_share")
                    share = open_input_share(recipient, role, aad, box).payload
                    found.append(ReportInput(report.report_metadata.report_id, report.public_share, share))
                return found

            seconds, inputs[side] = timed(opened)
            times[f"{side} opens"] += seconds
        ours, theirs = inputs["leader"], inputs["helper"]
        first, prepared = timed(lambda ours=ours: leader.leader_init(ours))
        second, answers = timed(
            lambda theirs=theirs, prepared=prepared: helper.helper_init(
                theirs, [one.outbound for one in prepared]
            )
        )
        third, _ = timed(
            lambda prepared=prepared, answers=answers: leader.leader_finish(
                [one.state for one in prepared], [one.outbound for one in answers]
            )
        )
        times["leader"] += first + third
        times["helper"] += second
    return {side: (times[side], times[side] + times[f"{side} opens"]) for side in ("leader", "helper")}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=int, default=2_000)
    arguments = parser.parse_args()
    met = True
    for name in CASES:
        for side, (bare, whole) in measured(name, arguments.reports).items():
            each = 1e6 / arguments.reports
            ratio = whole / bare
            met &= ratio <= MOST_RATIO
            print(
                f"{name:16}{side:8}{whole * each:>9.0f} µs a report{bare * each:>9.0f} µs bare"
                f"{ratio:>7.2f}   at most {MOST_RATIO}"
            )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
