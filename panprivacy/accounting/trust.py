"""The names of the trust models; `statistics.trust_models` defines what each means for a recipe."""

from enum import StrEnum


class Trust(StrEnum):
    """The trust models. A meaning never changes in place; a new model is a new value."""

    SINGLE_SERVER = "single_server"
    """One server decrypts every report (LPP section 4)."""

    TWO_SERVER = "two_server"
    """Two servers hold one share each of every report, and add up reports that neither can read (LPP section
    5)."""

    SHUFFLER = "shuffler"
    """A shuffler mixes the messages of a whole cohort without reading them, and an analyzer decrypts the
    mixed messages (RSP section 2.3)."""

    JOINT_KEY = "joint_key"
    """Two servers hold half a key each; they decrypt a sum of encrypted bits, and no report (LPP section 5.1,
    last paragraph)."""

    CURATOR = "curator"
    """A curator sees every item of a stream, and keeps only a pan-private state of it (PPS section 2)."""
