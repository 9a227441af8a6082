"""Pages as a browser reads them."""

import re

from django.http import HttpResponse

_BLOCK = r"</?(?:caption|dd|dt|figcaption|h[1-3]|li|p|td|th|tr)\b"
_AROUND_A_BLOCK = re.compile(rf"({_BLOCK}[^<>]*>) | (?={_BLOCK})")


def page_text(response: HttpResponse) -> str:
    """The page with its tags. White space is one space wherever it stands, and none beside a block's tags."""
    page = " ".join(response.content.decode().split())
    return _AROUND_A_BLOCK.sub(lambda found: found[1] or "", page)
