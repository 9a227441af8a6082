"""The addresses of both aggregators, for tests that run them in one process."""

from django.urls import include, path

urlpatterns = [
    path("leader/", include("dap.leader.urls")),
    path("helper/", include("dap.helper.urls")),
    path("helper/", include("joint_key.helper.urls")),
]
