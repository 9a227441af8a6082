from django.urls import path, re_path

from pages.simulate.series_views import SeriesCancelView, SeriesDeleteView, SimulateSeriesView
from pages.simulate.views import CancelView, DeleteView, SimulateDraftView, SimulateRecipeView, SimulationView

SERIES = r"^series/(?P<identifier>[0-9a-f]{16})/simulation/"

urlpatterns = [
    path("recipes/drafts/<int:pk>/simulate/", SimulateDraftView.as_view(), name="draft-simulate"),
    path("recipes/<identifier:identifier>/simulate/", SimulateRecipeView.as_view(), name="recipe-simulate"),
    path("simulations/<uuid:simulation>/", SimulationView.as_view(), name="simulation"),
    path("simulations/<uuid:simulation>/cancel/", CancelView.as_view(), name="simulation-cancel"),
    path("simulations/<uuid:simulation>/delete/", DeleteView.as_view(), name="simulation-delete"),
    path(
        "recipes/drafts/<int:pk>/series/simulate/",
        SimulateSeriesView.as_view(),
        name="draft-series-simulate",
    ),
    re_path(SERIES + "cancel/$", SeriesCancelView.as_view(), name="series-simulation-cancel"),
    re_path(SERIES + "delete/$", SeriesDeleteView.as_view(), name="series-simulation-delete"),
]
