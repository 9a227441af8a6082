"""Many sequences of faults: `--seeds`, and what came of them all."""

import argparse
from collections import Counter

import pytest


def _seeds(text: str) -> range:
    """`7`, or `1-5000`."""
    first, _, last = text.partition("-")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        found = range(0)
    if not found:
        raise argparse.ArgumentTypeError(f"a seed, or the first and the last as in 1-5000, not {text!r}")
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds",
        type=_seeds,
        help="run the sequences of faults of these seeds, each in every batch mode, as 1-5000",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("seeds", None):
        return
    # pytest counts every report of a test that failed; what a sequence did is told once, by its call.
    told = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call" and report.user_properties
    ]
    numbers = Counter[str]()
    for report in told:
        numbers.update(dict(report.user_properties))
    terminalreporter.section("faults")
    terminalreporter.write_line(f"{len(told):>10,}  sequences, {sum(r.failed for r in told):,} failed")
    for name, number in sorted(numbers.items()):
        terminalreporter.write_line(f"{number:>10,}  {name}")
