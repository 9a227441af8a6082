from django.urls import path

from reports.views import ReportBatchView, ReportView

urlpatterns = [
    path("recipes/<identifier:identifier>/reports/", ReportView.as_view(), name="api-report"),
    path(
        "recipes/<identifier:identifier>/reports/batch/", ReportBatchView.as_view(), name="api-report-batch"
    ),
]
