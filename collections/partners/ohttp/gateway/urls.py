"""The address at which clients expect a gateway (RFC 9540)."""

from django.urls import path

from panprivacy.protocols.oblivious_http.keys import GATEWAY_PATH
from partners.ohttp.gateway.views import gateway

urlpatterns = [path(GATEWAY_PATH.removeprefix("/"), gateway, name="gateway")]
