"""The public report extension that carries a token of admission (docs/protocol.md).

It stands in the metadata of the report, which is associated data of both sealed shares: nobody can exchange
the token of a report without its shares not opening any more.
"""

from panprivacy.dap.basics import Extension
from panprivacy.dap.upload import ReportMetadata
from panprivacy.privacy_pass.tokens import TOKEN_BYTES

TOKEN = 0xFF01
"""Type of the extension: a number of ours, which no draft assigns."""


def token_extension(token: bytes) -> Extension:
    """The extension with a token (354 bytes)."""
    return Extension(TOKEN, token)


def token_of(metadata: ReportMetadata) -> bytes | None:
    """What a report brings as its token, of any length and unverified; None where it brings none."""
    carried = (e.extension_data for e in metadata.public_extensions if e.extension_type == TOKEN)
    return next(carried, None)


ENCODED_BYTES = len(token_extension(bytes(TOKEN_BYTES)).encode())
HEADER = token_extension(bytes(TOKEN_BYTES)).encode()[:-TOKEN_BYTES]
"""What an encoded extension with a token begins with: its type and length."""
