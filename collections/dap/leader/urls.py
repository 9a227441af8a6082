"""The leader's resources of DAP, below its base address."""

from django.urls import include, path, re_path

from dap import converters as converters  # registers them
from dap.leader import collection_views, views
from dap.views import hpke_config

urlpatterns = [
    path("hpke_config", hpke_config, name="leader-hpke-config"),
    path("", include("dap.leader.upload_urls")),
    path(
        "tasks/<dap_task:task_id>/collection_jobs",
        collection_views.collection_jobs,
        name="leader-collection-jobs",
    ),
    path(
        "tasks/<dap_task:task_id>/collection_jobs/<dap_resource:job_id>",
        collection_views.collection_job,
        name="leader-collection-job",
    ),
    re_path("", views.nothing),
]
