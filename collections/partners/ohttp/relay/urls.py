"""The relay's resources."""

from django.urls import path

from partners.ohttp.relay.views import relay

urlpatterns = [
    path("<slug:name>", relay, name="relay"),
    path("<slug:name>/<slug:role>", relay, name="relay-partner"),
]
