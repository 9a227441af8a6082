from django.urls import path

from log.audit.api import LogView

urlpatterns = [path("log/", LogView.as_view(), name="api-log")]
