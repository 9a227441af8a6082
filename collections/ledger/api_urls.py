from django.urls import path

from ledger.api import PopulationListView, PopulationView

urlpatterns = [
    path("populations/", PopulationListView.as_view(), name="api-populations"),
    path("populations/<slug:name>/", PopulationView.as_view(), name="api-population"),
]
