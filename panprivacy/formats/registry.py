"""Tables of classes and objects by name; each entry's module loads when the entry is first asked for."""

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TypeVar, cast

T = TypeVar("T")


class Registry(MutableMapping[str, T]):
    """Name → class or object. Names are listed and tested without loading any module.

    Args:
        package: dotted name of the package that the modules belong to.
        locations: name → `module:Name` within the package, in the order in which they are listed.
    """

    def __init__(self, package: str, locations: Mapping[str, str]) -> None:
        self._package = package
        self._entries: dict[str, str | T] = dict(locations)

    def __getitem__(self, name: str) -> T:
        entry = self._entries[name]
        if isinstance(entry, str):
            module, found = entry.split(":")
            entry = cast("T", getattr(importlib.import_module(f"{self._package}.{module}"), found))
            self._entries[name] = entry
        return entry

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __setitem__(self, name: str, entry: T) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
