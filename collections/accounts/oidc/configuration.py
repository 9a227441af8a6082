"""The organization's provider, as the settings name it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

ROLES = ("auditor", "analyst", "administrator")

LONGEST_ISSUER = 300
"""Characters of the provider's address."""

LONGEST_SUBJECT = 255
"""Characters of the name that it gives to a person for good (OpenID Connect Core, 2)."""


@dataclass(frozen=True)
class Organization:
    """One provider, and what its groups are here.

    Attributes:
        issuer: its address, exactly as its tokens have it.
        client_id, client_secret: this site's name and password there.
        groups_claim: the claim of ID tokens that lists a person's groups.
        roles: pairs of a role (`ROLES`) and a group that has it.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    groups_claim: str
    roles: tuple[tuple[str, str], ...]

    def roles_of(self, groups: Iterable[str]) -> frozenset[str]:
        """Roles of a person in these groups."""
        held = frozenset(groups)
        return frozenset(role for role, group in self.roles if group in held)
