from django.urls import path

from simulations.api import DeletionView, SimulationsView, SimulationView

urlpatterns = [
    path("simulations/", SimulationsView.as_view(), name="api-simulations"),
    path("simulations/<uuid:simulation>/", SimulationView.as_view(), name="api-simulation"),
    path("simulations/<uuid:simulation>/delete/", DeletionView.as_view(), name="api-simulation-delete"),
]
