"""The interface of the optional parts of a recipe.

A part lies in one file. It reads and writes its fields in recipe files and documents, and checks them against
the rest of the recipe. It describes them for forms, pages and the API. A new part is one file, one line of
`parts.PARTS`, and one test module.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import Servers

F = TypeVar("F")
D = TypeVar("D")
V = TypeVar("V")


@dataclass(frozen=True, kw_only=True)
class PartField:
    """One field of a part, described for people. How it is entered follows from what it has.

    Attributes:
        name: in recipe files and documents.
        label: in forms and tables.
        help: in forms: what to enter.
        meaning: next to its value, and in the description of the API: what it means, as a sentence.
        length: most characters of a text, or of each line.
        lines: most lines; 0 if it is a single text.
        choices: (value, text) of each choice; the first is the default.
        number: the least and the largest whole number.
    """

    name: str
    label: str
    help: str
    meaning: str
    length: int = 0
    lines: int = 0
    choices: tuple[tuple[str | bool, str], ...] = ()
    number: tuple[int, int] | None = None


@dataclass(frozen=True)
class Subject:
    """What decides which fields a recipe may have: its statistic and its trust model."""

    statistic: type[Statistic[Any]]
    servers: type[Servers]


class PartialRecipe(Protocol):
    """What a part may ask of the recipe that it belongs to: a draft or a published one."""

    @property
    def parameters(self) -> PublicParameters:
        """Of its statistic."""

    @property
    def trust(self) -> Trust:
        """Which server sees what devices send."""

    @property
    def parts(self) -> Mapping[str, Any]:
        """The values of the parts that it has, by their names."""

    @property
    def plain_statistic(self) -> Statistic[Any]:
        """The statistic with its parameters and segments, without anything else."""


class Part(ABC, Generic[F, D]):
    """An optional part of a recipe, with a value F in a recipe file and D in a published document.

    A recipe that does not have the part has no value of it.
    """

    name: ClassVar[str]
    """Its key among the parts of a recipe."""

    fields: ClassVar[tuple[PartField, ...]]
    """Its fields in recipe files and documents. Each may be absent."""

    in_files: ClassVar[bool] = True
    """Whether recipe files have it, too; otherwise documents only."""

    made_when_published: ClassVar[bool] = False
    """Whether its value in the document has what only publishing knows: keys, addresses, results."""

    has_section: ClassVar[bool] = False
    """Whether pages show it in a section of its own, instead of as rows of their table."""

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(field.name for field in self.fields)

    @abstractmethod
    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        """The names of the fields that such a recipe may have."""

    def misplaced(self, field: str, subject: Subject) -> FieldError | None:
        """The refusal of a field that such a recipe may not have; None for the usual one."""

    @abstractmethod
    def read_file(self, fields: Mapping[str, object]) -> F | None:
        """Read the fields of a recipe file; None if they state what holds without the part.

        Args:
            fields: those that are given, at least one; none of them is null.

        Raises:
            FieldError: names the field that is out of range.
        """

    def default(self, subject: Subject) -> F | None:  # noqa: ARG002  # most have none
        """The value of a recipe file that has none of the fields; None if it does not have the part."""
        return None

    @abstractmethod
    def file_fields(self, value: F) -> dict[str, Any]:
        """Inverse of `read_file`, as plain JSON values."""

    @abstractmethod
    def read_document(self, fields: Mapping[str, object]) -> D:
        """Read the fields of a document, strictly: each value has one spelling.

        Args:
            fields: those that are given, at least one; null is a value that is refused.

        Raises:
            FieldError: names the field that is out of range.
        """

    @abstractmethod
    def document_fields(self, value: D) -> dict[str, Any]:
        """Inverse of `read_document`, as plain JSON values."""

    def published(self, value: F | None, made: D | None) -> D | None:
        """The value in the document; None if the recipe does not have the part.

        Args:
            value: the draft's; None if it does not have the part.
            made: what publishing made for it, such as keys; None if it made nothing.

        Raises:
            ValueError: something was made for a draft that does not have the part, or the reverse.
        """
        if (value is None) != (made is None):
            raise ValueError(f"{self.name} must be made exactly if the draft has it")
        return made

    def check(self, recipe: PartialRecipe) -> None:
        """FieldError if the part, present or absent, does not fit the rest of the recipe."""

    def without_names(self, value: F) -> F | None:
        """The same with neutral names, for computing what guarantees depend on; None if they depend on
        nothing of it."""
        return value


class SimplePart(Part[V, V]):
    """A part whose value in the document is that of the recipe file."""

    @abstractmethod
    def read(self, fields: Mapping[str, object]) -> V:
        """Read the fields of a recipe file or a document. Arguments and errors as in `read_document`."""

    @abstractmethod
    def written(self, value: V) -> dict[str, Any]:
        """Inverse of `read`, as plain JSON values."""

    def read_file(self, fields: Mapping[str, object]) -> V | None:
        return self.read(fields)

    def file_fields(self, value: V) -> dict[str, Any]:
        return self.written(value)

    def read_document(self, fields: Mapping[str, object]) -> V:
        return self.read(fields)

    def document_fields(self, value: V) -> dict[str, Any]:
        return self.written(value)

    def published(self, value: V | None, made: V | None) -> V | None:
        if made is not None:
            raise ValueError(f"{self.name} is the draft's: nothing may be made for it")
        return value


class RecipeOfParts:
    """The base of drafts and published recipes, which are frozen dataclasses with `parts`."""

    parameters: PublicParameters
    parts: Mapping[str, Any]

    @property
    def event_names(self) -> tuple[str, ...]:
        """What happens on devices, as applications call it; empty if nothing names it."""
        stated = self.parts.get("event")
        if stated is not None and stated.name is not None:
            return (str(stated.name),)
        return self.parameters.event_names

    @property
    def event_name(self) -> str | None:
        """The same in one line, with commas between; None if nothing names it."""
        return ", ".join(self.event_names) or None

    def having(self, **parts: Any) -> Self:
        """The same with other values of these parts; None removes a part."""
        changed = {name: value for name, value in {**self.parts, **parts}.items() if value is not None}
        return replace(self, parts=changed)  # type: ignore[type-var]  # it is a dataclass


class PartValue(Generic[V]):
    """An attribute of a recipe: the value of one of its parts.

    Args:
        name: of the part.
        absent: the value if the recipe does not have the part.
    """

    def __init__(self, name: str, absent: V) -> None:
        self._name = name
        self._absent = absent

    @overload
    def __get__(self, recipe: None, owner: type) -> "PartValue[V]": ...

    @overload
    def __get__(self, recipe: PartialRecipe, owner: type) -> V: ...

    def __get__(self, recipe: PartialRecipe | None, owner: type) -> "PartValue[V] | V":
        if recipe is None:
            return self
        value: V = recipe.parts.get(self._name, self._absent)
        return value
