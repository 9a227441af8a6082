"""What `make web` built for pages, among the static files; if nothing was built, nothing is found."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.contrib.staticfiles.utils import matches_patterns
from django.core.checks import CheckMessage
from django.core.files.storage import FileSystemStorage

BUILD = Path(__file__).resolve().parents[2] / "devices_web" / "build"
PREFIX = "devices-web"


class WebBuildFinder(BaseFinder):
    """The modules at the top of the build, as `devices-web/NAME.js`, and the notices of what they contain;
    folders hold what no page asks for."""

    def __init__(self, app_names: Iterable[str] | None = None) -> None:
        self.storage = FileSystemStorage(location=BUILD)
        # `collectstatic` puts the files there.
        self.storage.prefix = PREFIX  # type: ignore[attr-defined]  # as Django's own finders do

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        found = [str(BUILD / name) for name, _ in self.list(()) if path == f"{PREFIX}/{name}"]
        return found if find_all else (found[0] if found else [])

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        for file in sorted([*BUILD.glob("*.js"), *BUILD.glob("NOTICES.txt")]):
            if not matches_patterns(file.name, list(ignore_patterns or ())):
                yield file.name, self.storage
