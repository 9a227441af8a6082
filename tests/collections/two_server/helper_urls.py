"""The helper's addresses below its base address."""

from django.urls import include, path

urlpatterns = [path("", include("helper.urls"))]
