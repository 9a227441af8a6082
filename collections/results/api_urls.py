from django.urls import path

from results.api import ResultView, WithholdView
from results.bundles_api import BundleView, VerdictView
from results.comparisons_api import ComparisonView
from results.held_api import HeldView
from results.proofs_api import RecipeProofView, ReleaseProofView
from results.tables_api import ResultsCsvView, ResultsParquetView

urlpatterns = [
    path("results.csv", ResultsCsvView.as_view(), name="api-results-csv"),
    path("results.parquet", ResultsParquetView.as_view(), name="api-results-parquet"),
    path("comparisons/", ComparisonView.as_view(), name="api-comparison"),
    path("recipes/<identifier:identifier>/result/", ResultView.as_view(), name="api-result"),
    path("recipes/<identifier:identifier>/bundle/", BundleView.as_view(), name="api-bundle"),
    path("recipes/<identifier:identifier>/verdicts/", VerdictView.as_view(), name="api-verdicts"),
    path("recipes/<identifier:identifier>/held/", HeldView.as_view(), name="api-held"),
    path("recipes/<identifier:identifier>/proof/", RecipeProofView.as_view(), name="api-recipe-proof"),
    path("releases/<identifier:identifier>/proof/", ReleaseProofView.as_view(), name="api-release-proof"),
    path("recipes/<identifier:identifier>/withhold/", WithholdView.as_view(), name="api-withhold"),
]
