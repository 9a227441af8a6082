"""The library's wheel as strangers install it: `make library`.

Run as `python -m tests.library WHEEL_PYTHON` at the root. Runs every example of panprivacy/README.md and of
examples/library with an interpreter that has the wheel and nothing else of ours, and checks their types.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "panprivacy" / "README.md"
EXAMPLES = ROOT / "examples" / "library"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def written(folder: Path) -> list[Path]:
    """Every example as a file of its own in this folder."""
    texts = {f"readme_{number}": block for number, block in enumerate(BLOCK.findall(README.read_text()))}
    texts |= {place.stem: place.read_text() for place in sorted(EXAMPLES.glob("*.py"))}
    files = []
    for name, text in texts.items():
        # A name that shadows no module.
        files.append(folder / f"example_{name}.py")
        files[-1].write_text(text)
    return files


def main(interpreter: str) -> int:
    """Run and check all; the exit code."""
    # Not resolved: a link is what makes it an environment's.
    interpreter = str(Path(interpreter).absolute())
    with TemporaryDirectory() as folder:
        files = written(Path(folder))
        # Isolated: neither this folder nor the user's packages are on the path.
        runs = {file.name: [interpreter, "-I", file.name] for file in files}
        typed = ["--strict", "--config-file=", f"--python-executable={interpreter}"]
        runs["types"] = [sys.executable, "-m", "mypy", *typed, *(file.name for file in files)]
        failed = [name for name, run in runs.items() if subprocess.run(run, cwd=folder).returncode]
    print(f"{len(files)} examples; failed: {', '.join(failed) or 'none'}")  # noqa: T201  # a command
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
