"""docs/operations.md tells what each event of the log means."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = (ROOT / "docs" / "operations.md").read_text().partition("\n## Logs\n")[2].partition("\n## ")[0]
TOLD = {name for row in re.findall(r"^\| (`.*?) \|", LOGS, re.M) for name in re.findall(r"`([a-z_]+)`", row)}


def logged() -> Iterator[str]:
    for folder in ("collections", "panapp"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text()
            for node in ast.walk(ast.parse(text)) if "logger" in text else ():
                match node:
                    case ast.Call(
                        func=ast.Attribute(value=ast.Name(id="logger")),
                        args=[ast.Constant(value=str(event)), *_],
                    ):
                        yield event


def test_every_event_of_the_log_is_told_in_the_docs_and_no_other() -> None:
    assert set(logged()) == TOLD
