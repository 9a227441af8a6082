"""Where clients expect a gateway (RFC 9540)."""

from django.urls import path

from gateway.views import gateway

PATH = ".well-known/ohttp-gateway"

urlpatterns = [path(PATH, gateway, name="gateway")]
