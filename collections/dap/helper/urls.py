"""The helper's resources below its base address: DAP's, and our own for registration."""

from django.urls import path

from dap import converters as converters  # registers them
from dap.helper import views
from dap.views import hpke_config

urlpatterns = [
    path("hpke_config", hpke_config, name="helper-hpke-config"),
    path("keys", views.keys, name="helper-keys"),
    path("tasks/<dap_task:task_id>", views.task, name="helper-task"),
    path("tasks/<dap_task:task_id>/count", views.count, name="helper-count"),
    path("tasks/<dap_task:task_id>/aggregation_jobs", views.aggregation_jobs, name="helper-jobs"),
    path(
        "tasks/<dap_task:task_id>/aggregation_jobs/<dap_resource:resource_id>",
        views.aggregation_job,
        name="helper-job",
    ),
    path("tasks/<dap_task:task_id>/aggregate_shares", views.aggregate_shares, name="helper-shares"),
    path(
        "tasks/<dap_task:task_id>/aggregate_shares/<dap_resource:resource_id>",
        views.aggregate_share,
        name="helper-share",
    ),
]
