from django.urls import path

from recipes.planner.api import PlanApiView

urlpatterns = [
    path("plan", PlanApiView.as_view(), name="api-plan"),
    # As all other addresses of the API end; described once.
    path("plan/", PlanApiView.as_view(schema=None), name="api-plan-slash"),
]
