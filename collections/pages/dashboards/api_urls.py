from django.urls import path

from pages.dashboards.api import DashboardListView, DashboardView

urlpatterns = [
    path("dashboards/", DashboardListView.as_view(), name="api-dashboards"),
    path("dashboards/<slug:dashboard>/", DashboardView.as_view(), name="api-dashboard"),
]
