from django.urls import path

from reports.items_views import ItemsView
from reports.views import ReportBatchView, ReportView

urlpatterns = [
    path("recipes/<identifier:identifier>/items/", ItemsView.as_view(), name="api-items"),
    path("recipes/<identifier:identifier>/reports/", ReportView.as_view(), name="api-report"),
    path(
        "recipes/<identifier:identifier>/reports/batch/", ReportBatchView.as_view(), name="api-report-batch"
    ),
]
