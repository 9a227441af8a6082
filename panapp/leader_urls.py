"""Every address of a leader: the site, and the leader's resources of DAP."""

from django.urls import include, path

from panapp.urls import handler400, handler403, handler404, handler500
from panapp.urls import urlpatterns as site

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [path("leader/", include("dap.leader.urls")), *site]
