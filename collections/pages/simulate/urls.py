from django.urls import path

from pages.simulate.views import CancelView, DeleteView, SimulateDraftView, SimulateRecipeView, SimulationView

urlpatterns = [
    path("recipes/drafts/<int:pk>/simulate/", SimulateDraftView.as_view(), name="draft-simulate"),
    path("recipes/<identifier:identifier>/simulate/", SimulateRecipeView.as_view(), name="recipe-simulate"),
    path("simulations/<uuid:simulation>/", SimulationView.as_view(), name="simulation"),
    path("simulations/<uuid:simulation>/cancel/", CancelView.as_view(), name="simulation-cancel"),
    path("simulations/<uuid:simulation>/delete/", DeleteView.as_view(), name="simulation-delete"),
]
