from django.urls import path

from simulations.api import (
    DeletionView,
    SeriesDeletionView,
    SeriesSimulationsView,
    SeriesSimulationView,
    SimulationsView,
    SimulationView,
)

urlpatterns = [
    path("simulations/", SimulationsView.as_view(), name="api-simulations"),
    path("simulations/<uuid:simulation>/", SimulationView.as_view(), name="api-simulation"),
    path("simulations/<uuid:simulation>/delete/", DeletionView.as_view(), name="api-simulation-delete"),
    path("simulations/series/", SeriesSimulationsView.as_view(), name="api-series-simulations"),
    path("simulations/series/<slug:series>/", SeriesSimulationView.as_view(), name="api-series-simulation"),
    path(
        "simulations/series/<slug:series>/delete/",
        SeriesDeletionView.as_view(),
        name="api-series-simulation-delete",
    ),
]
