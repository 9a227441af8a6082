from django.urls import path

from pages.new.views import GoalsView, GoalView

urlpatterns = [
    path("new/", GoalsView.as_view(), name="goals"),
    path("new/<slug:goal>/", GoalView.as_view(), name="goal"),
]
