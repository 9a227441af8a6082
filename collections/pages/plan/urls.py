from django.urls import path

from pages.plan.views import PlanRestView, PlanView

urlpatterns = [
    path("plan/", PlanView.as_view(), name="plan"),
    path("plan/rest/", PlanRestView.as_view(), name="plan-rest"),
]
