"""The curve's types if its library is not installed: modules that name them can be imported, and nothing can
be computed. `panprivacy.statistics.trust_models.joint_key.library_missing` has the reason for users."""

from typing import Self


class G1Point:
    """No point."""

    @classmethod
    def identity(cls) -> Self:
        return cls()


class G2Point(G1Point):
    """No point."""


class Scalar:
    """No scalar."""


class GT:
    """No product of pairings."""
