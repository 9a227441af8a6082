"""The one resource that both aggregators serve to everybody."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dap.hpke_keys import hpke_config_list
from panprivacy.dap.media import media_type
from panprivacy.dap.upload import HpkeConfigList
from storage.rotating_keys import cache_seconds


@csrf_exempt  # what is not GET is refused as such, not for want of a token
@require_safe
def hpke_config(request: HttpRequest) -> HttpResponse:
    """`{aggregator}/hpke_config`: to which keys clients seal (DAP 18, section 4.3.1)."""
    body = hpke_config_list(now=timezone.now()).encode()
    response = HttpResponse(body, content_type=media_type(HpkeConfigList))
    response["Cache-Control"] = f"max-age={cache_seconds()}"
    return response
