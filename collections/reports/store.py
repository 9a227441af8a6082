"""Where the reports of a recipe are kept until they are added up: the interface, and what both stores share.

`rows` keeps them in the database, `objects` in object storage. `operations.report_store_of` gives that of a
recipe, which is fixed when it is published. No other code knows which one it is.
"""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from django.db import connection, models, transaction

from panprivacy.encryption.interface import PrivateKey
from recipes.models import Recipe
from reports.models import RejectionCount, SegmentedRecipe
from reports.parsing import WellFormedReport
from storage.group_commit import RowHeldError
from storage.kept_rows import KeptRows

MINIMUM_REPORTS = 500
"""Reports of an open recipe that are taken in together, at least (or the cohort size, if smaller)."""


class RecipeNotOpenError(ValueError):
    """The recipe accepts no reports at present."""


class ReportsMissingError(RuntimeError):
    """Fewer reports are stored than were put into a piece of work. Nothing of it is added up: the remaining
    reports would be taken for all.

    It happens after the database is restored from a dump that began before a result was released or withheld,
    and ended after. That empties the table of reports. PostgreSQL shows an emptied table as empty to every
    transaction, even to a dump that had begun already: the dump has the work, and not its reports.
    """

    def __init__(self, *, found: int, expected: int) -> None:
        super().__init__(f"{found:,} of {expected:,} reports of a chunk are stored")


@dataclass(frozen=True)
class Rejection:
    """One report of a batch that was not taken in."""

    index: int
    reason: str
    detail: str


@dataclass(frozen=True)
class Submission:
    """Reports that were read, and are to be stored.

    Attributes:
        good: nonce → index and report.
        digests: nonce → what counts once besides it (`ReportStore.digest`), in the order in which the reports
            came.
        bad: what was rejected when it was read.
    """

    recipe: Recipe
    good: Mapping[bytes, tuple[int, WellFormedReport]]
    digests: Mapping[bytes, bytes]
    bad: Sequence[Rejection]


class Step(models.TextChoices):
    """What one task does with the reports of its piece of work."""

    SUM = "sum", "Add up rows of reports"
    SORT = "sort", "Sort segments into one"
    SEAL = "seal", "Seal the manifest of sorted segments"
    SHARD = "shard", "Add up one shard"


@dataclass(frozen=True)
class Work:
    """Stored reports that one task takes one step on.

    Attributes:
        shard: which one; of that step only.
        seed: secret: of the values that replace invalid reports. Every attempt has the same. Not of work that
            was just planned.
    """

    step: Step
    count: int
    shard: int | None = None
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    seed: bytes = b""


@dataclass(frozen=True)
class Taken:
    """What came of a piece of work. Nothing of it is in the database yet.

    Attributes:
        end: called in the transaction that ends the work. Deletes what was taken, and gives the work that
            follows. Raises ReportsMissingError.
        total: vector to be added to the recipe's sum; empty if the step adds up nothing.
        reports: how many reports are in it.
    """

    end: Callable[[], Sequence[Work]]
    total: Sequence[int] = ()
    reports: int = 0


class ReportStore(ABC):
    """The reports of one recipe, from their arrival to the end of the recipe.

    A report is kept once `submit` returns, and counts once, whatever is sent twice and whatever crashes.
    Operations that change rows run in the caller's transaction, which holds the recipe's row; `submit` and
    `take` run outside of one.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @abstractmethod
    def begin(self) -> None:
        """Get ready for reports, in the transaction that publishes the recipe."""

    @abstractmethod
    def require(self) -> None:
        """Raise StoreDownError if this process cannot store reports of this recipe. Asked before they are
        read: what `submit` refuses, it refuses for other recipes, too."""

    @abstractmethod
    def digest(self, report: WellFormedReport) -> bytes:
        """A keyed hash of what counts once in a report."""

    @abstractmethod
    def submit(self, submission: Submission, size: int) -> list[Rejection]:
        """Store the good reports, together with those of other requests. Durable when this returns.

        Args:
            size: number of reports that came, bad ones included.

        Raises:
            RecipeNotOpenError, QueueFullError, RowHeldError, OperationalError: nothing was stored or counted.
        """

    @abstractmethod
    def unplanned(self) -> int:
        """Number of stored reports that no piece of work takes in yet."""

    @abstractmethod
    def to_plan(self) -> int:
        """Number of those for which `plan` makes work now. Needs no lock."""

    @abstractmethod
    def plan(self, least: int) -> Sequence[Work]:
        """Work for what waits.

        Args:
            least: number of reports below which a closed recipe is not worked on at all.
        """

    @abstractmethod
    def take(self, work: Work, key: Callable[[], PrivateKey]) -> Taken | None:
        """Do a piece of work, in a worker. The same work may be done twice, at the same time, too.

        Args:
            key: unseals the recipe's private key. Called by steps that add up only.

        Returns:
            None if there is nothing to do: the result is out.

        Raises:
            ChangedError: reports are lost, and `lose` must be called.
            StoreDownError: try again later.
        """

    def lose(self, reason: str) -> None:
        """Give up the reports, with a reason in the form of a clause."""
        raise NotImplementedError(f"{type(self).__name__} loses no reports")

    def lost(self) -> str:
        """Why reports were given up, as a clause; empty if they were not."""
        return ""

    @abstractmethod
    def end(self) -> None:
        """Delete all reports, in the transaction that releases or withholds the result, or directly after
        its commit."""

    @staticmethod
    @abstractmethod
    def upkeep() -> None:
        """Delete what `end` could not, of all recipes. Safe to run at any time, even twice."""


def _place(identifier: str) -> tuple[SegmentedRecipe | None]:
    return (SegmentedRecipe.objects.filter(recipe__identifier=identifier).only("key", "store").first(),)


PLACES: KeptRows[str, tuple[SegmentedRecipe | None]] = KeptRows(_place, lambda _: True)
"""By identifier, what a process has read: key and store, which never change. Threads that come at once must
not take a connection each, and hold it while the writer needs one."""


def is_in_objects(recipe: Recipe) -> bool:
    """Whether the reports of a published recipe are in object storage."""
    return PLACES.get(str(recipe.identifier))[0] is not None


@transaction.atomic
def rejections_count(*, recipe: Recipe, reasons: Mapping[str, int]) -> None:
    """Add to the counts of rejected reports, by reason."""
    # All rows are locked in one order, so that two batches never wait for each other.
    for reason, count in sorted(reasons.items()):
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {RejectionCount._meta.db_table} AS total "  # noqa: S608  # our own table
                "(recipe_id, reason, count) VALUES (%s, %s, %s) ON CONFLICT (recipe_id, reason) "
                "DO UPDATE SET count = total.count + excluded.count",
                [recipe.pk, reason, count],
            )


def hold_open(keys: Set[int]) -> dict[int, type[Exception]]:
    """Keep those of the recipes open that are, until the transaction ends.

    Returns:
        The others, with the error that says why: RecipeNotOpenError, or RowHeldError if another transaction
        holds one that is open.
    """
    if not connection.features.has_select_for_update:
        # SQLite: this transaction holds the only write lock from its beginning.
        return dict.fromkeys(keys - open_of(keys), RecipeNotOpenError)
    # Weak, so that batches wait neither for each other nor for the planner; only closing, which takes the
    # strongest lock, waits for them. They do not wait for it: the reports of other recipes are with them.
    skipped = keys - open_of(keys, "FOR KEY SHARE SKIP LOCKED")
    # What was skipped and is open was held; what is closed stays closed.
    held = open_of(skipped)
    return {key: RowHeldError if key in held else RecipeNotOpenError for key in skipped}


def open_of(keys: Set[int], lock: str = "") -> set[int]:
    """Those of the recipes that are open at this moment."""
    if not keys:
        return set()
    places = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {Recipe._meta.db_table} "  # noqa: S608  # our own table
            f"WHERE status = %s AND id IN ({places}) ORDER BY id {lock}",
            [Recipe.Status.PUBLISHED.value, *keys],
        )
        return {key for (key,) in cursor.fetchall()}


def groups_of(rows: Iterable[tuple[int, int]], most: int, *, longest: int) -> Iterator[tuple[list[int], int]]:
    """Rows (key, number of reports) in their order, put together.

    Yields:
        Keys of a group, at most `longest`, and its reports, at most `most` unless a single row has more.
    """
    keys: list[int] = []
    size = 0
    for key, count in rows:
        if keys and (size + count > most or len(keys) == longest):
            yield keys, size
            keys, size = [], 0
        keys.append(key)
        size += count
    if keys:
        yield keys, size
