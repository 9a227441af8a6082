"""The names of the trust models; what each means for a recipe, `panprivacy.trust_models` says."""

from enum import StrEnum


class Trust(StrEnum):
    """The trust models. A meaning never changes in place; a new model is a new member."""

    SINGLE_SERVER = "single_server"
    """One server decrypts every report (LPP section 4)."""

    TWO_SERVER = "two_server"
    """Two servers hold one share each of every report, and add up what neither can read (LPP section 5)."""

    SHUFFLER = "shuffler"
    """A shuffler mixes the messages of a whole cohort without reading them, and an analyzer decrypts what
    comes out (RSP section 2.3)."""

    CURATOR = "curator"
    """A curator sees every item of a stream, and keeps only a pan-private state of it (PPS section 2)."""


FIRST = Trust.SINGLE_SERVER
"""The trust model of documents and guarantees from before there were others: they do not name it."""
