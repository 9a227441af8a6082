"""What the database refuses in this app's tables."""

from audit.append_only import Guard

RELEASES = Guard("releases_release", "final", "a release is final")
GUARDS = (RELEASES,)
