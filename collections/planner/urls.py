from django.urls import path

from planner.views import PlanRestView, PlanView

urlpatterns = [
    path("plan/", PlanView.as_view(), name="plan"),
    path("plan/rest/", PlanRestView.as_view(), name="plan-rest"),
]
