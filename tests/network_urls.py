"""The helper's addresses below its base address, for `network.deliver`."""

from django.urls import include, path

urlpatterns = [path("", include("dap.helper.urls")), path("", include("joint_key.helper.urls"))]
