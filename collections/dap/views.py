"""The one resource that both aggregators serve publicly."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from dap.hpke_keys import hpke_config_list
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.upload import HpkeConfigList
from storage.rotating_keys import cache_seconds
from web.failures import FAILURES, failure_response
from web.problems import method_not_allowed

_METHODS = ("GET", "HEAD")


@csrf_exempt  # what is not GET is refused as such, not for want of a token
def hpke_config(request: HttpRequest) -> HttpResponse:
    """`{aggregator}/hpke_config`: to which keys clients seal (DAP 18, section 4.3.1)."""
    try:
        if request.method not in _METHODS:
            raise method_not_allowed(", ".join(_METHODS))
        body = hpke_config_list(now=timezone.now()).encode()
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Ask again.")
    response = HttpResponse(body, content_type=media_type(HpkeConfigList))
    response["Cache-Control"] = f"max-age={cache_seconds()}"
    return response
