"""The contracts of `.importlinter` list every package."""

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = ConfigParser()
SETTINGS.read(ROOT / ".importlinter")
PACKAGES = SETTINGS["importlinter"]["root_packages"].split()


def test_contracts_list_every_package() -> None:
    outside = {place.parent.name for place in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert sorted(PACKAGES) == sorted(
        outside | {place.parent.name for place in ROOT.glob("collections/*/__init__.py")}
    )
    layers = SETTINGS["importlinter:contract:layers"]["layers"].replace("|", " ").split()
    assert sorted(layers) == sorted(PACKAGES)
