"""The address for uploads of reports: the leader's hot path."""

from django.urls import path

from dap import converters as converters  # registers them
from dap.leader import views

urlpatterns = [path("tasks/<dap_task:task_id>/reports", views.reports, name="leader-reports")]
