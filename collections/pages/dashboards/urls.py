from django.urls import path, re_path

from pages.dashboards.views import (
    AddToDashboardView,
    DashboardListView,
    DashboardView,
    DeleteDashboardView,
    EditDashboardView,
    EmbeddedView,
    NewDashboardView,
)

ONE = r"^dashboards/(?P<identifier>[0-9a-f]{16})/"

urlpatterns = [
    path("dashboards/", DashboardListView.as_view(), name="dashboards"),
    path("dashboards/new/", NewDashboardView.as_view(), name="dashboard-new"),
    path("dashboards/add/", AddToDashboardView.as_view(), name="dashboard-add"),
    re_path(ONE + "$", DashboardView.as_view(), name="dashboard"),
    re_path(ONE + "embed/$", EmbeddedView.as_view(), name="dashboard-embed"),
    re_path(ONE + "edit/$", EditDashboardView.as_view(), name="dashboard-edit"),
    re_path(ONE + "delete/$", DeleteDashboardView.as_view(), name="dashboard-delete"),
]
