"""What databases and files need here: append-only tables, sealed secrets, erasing, the signing key.

Others call `append_only` (guards that the database keeps), `sealing` (secrets at rest), `erasing` (so that
what is deleted is gone), `signing_key` (this installation's own) and `columns`.

It must not know what is stored, nor for which room.
"""

__all__ = ["append_only", "columns", "erasing", "sealing", "signing_key"]
