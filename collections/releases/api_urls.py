from django.urls import path

from releases.api import ResultView, WithholdView
from releases.comparisons_api import ComparisonView
from releases.held_api import HeldView
from releases.proofs_api import RecipeProofView, ReleaseProofView

urlpatterns = [
    path("comparisons/", ComparisonView.as_view(), name="api-comparison"),
    path("recipes/<identifier:identifier>/result/", ResultView.as_view(), name="api-result"),
    path("recipes/<identifier:identifier>/held/", HeldView.as_view(), name="api-held"),
    path("recipes/<identifier:identifier>/proof/", RecipeProofView.as_view(), name="api-recipe-proof"),
    path("releases/<identifier:identifier>/proof/", ReleaseProofView.as_view(), name="api-release-proof"),
    path("recipes/<identifier:identifier>/withhold/", WithholdView.as_view(), name="api-withhold"),
]
