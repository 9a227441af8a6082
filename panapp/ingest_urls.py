"""What devices and senders of items bring: addresses that are answered in front of Django's middleware."""

from django.urls import include, path

from panapp import urls as urls  # registers the converters

urlpatterns = [
    path("api/v1/", include("reports.urls")),
    path("leader/", include("dap.leader.upload_urls")),
]
