"""The library's wheel as strangers install it: `make library`.

Run as `python -m tests.library FOLDER` at the root. The folder has an environment with the wheel and nothing
else of ours, `bare`, and one for each of its extras. Runs every example of panprivacy/README.md and of
examples/library in the smallest environment that should do, and checks its types. The devices among them
report to a site that runs here.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "panprivacy" / "README.md"
EXAMPLES = ROOT / "examples" / "library"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)

EXTRAS = {
    "panprivacy.device.opentelemetry": "otel",
    "panprivacy.device": "device",
    "panprivacy.protocols.joint_key": "joint-key",
    "panprivacy.recompute": "joint-key",
    '"paillier-': "paillier",
}
"""What an example contains → the extra that it needs; the first that fits."""

OF_DEVICES = ("device", "otel")

RECIPE = {
    "name": "Examples",
    "question": "How many examples ran?",
    "event": "example.ran",
    "event_definition": "An example of the library ran to its end.",
    "statistic": "count_nonzero",
    "steps": 1,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 200,
    "population_size": 300,
}


EVERY_MODULE = """
import importlib, os, pkgutil, sys
import cryptography.hazmat.primitives.asymmetric.ed25519, numpy, scipy.optimize, scipy.special, scipy.stats
import panprivacy
left_out, failed = tuple(sys.argv[1:]), []
for module in pkgutil.walk_packages(panprivacy.__path__, "panprivacy."):
    if module.name.startswith(left_out) or module.name.endswith("__main__"):
        continue
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(module.name)
        except BaseException as error:
            print(module.name, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(module.name)
sys.exit(bool(failed))
"""
"""Imports each module as the first one of its process, except those of extras."""

OF_EXTRAS = {
    "panprivacy.device": ("device", "otel"),
    "panprivacy.device.opentelemetry": ("otel",),
    "panprivacy.encryption.paillier": ("paillier",),
    "panprivacy.protocols.joint_key": ("joint-key",),
    "panprivacy.recipe.accepted_list": ("joint-key",),
    "panprivacy.recompute": ("joint-key",),
}
"""Modules, by the beginning of their name → the environments in which they can be imported."""


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


@contextmanager
def running_site(folder: Path) -> Iterator[str]:
    """A site of its own in this folder; its address. This process has the same settings and database."""
    os.environ |= {"PANAPP_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "panapp.settings"}
    for shared in ("DATABASE_URL", "CELERY_BROKER_URL"):
        os.environ.pop(shared, None)
    # Imported only here: it reads these variables.
    import django
    from django.core.management import call_command

    django.setup()
    from simulations.installation.services import running_services

    call_command("migrate", verbosity=0)
    with running_services() as services:
        yield services.base_url


def published(site: str, folder: Path) -> tuple[str, str]:
    """A recipe of that site for real devices: its identifier, and the site's key in base64."""
    from django.core.management import call_command

    from panprivacy.device.transport import HttpTransport
    from panprivacy.formats import base64_text

    file, printed = folder / "recipe.json", StringIO()
    file.write_text(json.dumps(RECIPE))
    call_command("recipe", "publish", str(file), "--json", stdout=printed)
    with HttpTransport(site) as transport:
        return json.loads(printed.getvalue())["id"], base64_text.encode(transport.verification_key())


def arrived(identifier: str) -> int:
    """Reports that the site has stored for this recipe."""
    from reports.models import ReportNonce

    return ReportNonce.objects.filter(recipe__identifier=identifier).count()


def run(interpreter: str, files: list[Path], folder: Path, *arguments: str) -> list[str]:
    """Run examples; the names of those that fail."""
    # Isolated: neither this folder nor the user's packages are on the path.
    runs = {file.name: [interpreter, "-I", file.name, *arguments] for file in files}
    return [name for name, command in runs.items() if subprocess.run(command, cwd=folder).returncode]


def run_devices(interpreter: str, files: list[Path], folder: Path, site: str) -> list[str]:
    """Run those that are devices, and check that each has reported once; the names of those that fail."""
    identifier, key = published(site, folder)
    failed = run(interpreter, files, folder, site, identifier, key)
    reports = arrived(identifier)
    return failed if reports == len(files) else [*failed, f"{reports} reports of {len(files)} devices"]


def environment_of(example: Path) -> str:
    """The smallest environment that should run it."""
    text = example.read_text()
    return next((extra for mark, extra in EXTRAS.items() if mark in text), "bare")


def main(environments: str) -> int:
    """Run and check all; the exit code."""
    failed = []
    with TemporaryDirectory() as place, TemporaryDirectory() as data, running_site(Path(data)) as site:
        folder = Path(place)
        files = written(folder)
        for name in ("bare", *EXTRAS.values()):
            # Not resolved: a link is what makes it an environment's.
            interpreter = str(Path(environments, name, "bin", "python").absolute())
            examples = [file for file in files if environment_of(file) == name]
            if name in OF_DEVICES:
                failed += run_devices(interpreter, examples, folder, site)
            else:
                failed += run(interpreter, examples, folder)
            typed = ["--strict", "--config-file=", f"--python-executable={interpreter}"]
            check = [sys.executable, "-m", "mypy", *typed, *(file.name for file in examples)]
            if subprocess.run(check, cwd=folder).returncode:
                failed.append(f"types ({name})")
            left_out = [modules for modules, extras in OF_EXTRAS.items() if name not in extras]
            if subprocess.run([interpreter, "-I", "-c", EVERY_MODULE, *left_out], cwd=folder).returncode:
                failed.append(f"imports ({name})")
    print(f"{len(files)} examples; failed: {', '.join(failed) or 'none'}")  # noqa: T201  # a command
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
