from django.urls import path, re_path

from pages.populations.views import (
    BookExportView,
    NewPopulationView,
    PopulationEditView,
    PopulationsView,
    PopulationView,
)

# A population cannot be called `new`: see ledger.operations.ADDRESSES.
urlpatterns = [
    path("populations/", PopulationsView.as_view(), name="populations"),
    path("populations/new/", NewPopulationView.as_view(), name="population-new"),
    path("populations/<slug:name>/", PopulationView.as_view(), name="population"),
    path("populations/<slug:name>/edit/", PopulationEditView.as_view(), name="population-edit"),
    re_path(
        r"^populations/(?P<name>[a-z0-9-]+)/book\.(?P<form>csv|json)$",
        BookExportView.as_view(),
        name="population-book",
    ),
]
