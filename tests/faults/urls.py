"""The addresses of both aggregators, for tests that run them in one process."""

from django.urls import include, path

urlpatterns = [path("leader/", include("leader.urls")), path("helper/", include("helper.urls"))]
