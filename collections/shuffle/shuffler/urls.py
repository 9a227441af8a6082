"""The shuffler's resources below its base address."""

from django.urls import re_path

from shuffle.shuffler import views

RECIPE = "^recipes/(?P<identifier>[0-9a-f]{64})"

urlpatterns = [
    re_path(f"{RECIPE}$", views.recipe, name="shuffler-recipe"),
    re_path(f"{RECIPE}/messages$", views.messages, name="shuffler-messages"),
    re_path(f"{RECIPE}/batch$", views.batch, name="shuffler-batch"),
    re_path(rf"{RECIPE}/batch/(?P<number>[0-9]{{1,9}})$", views.part, name="shuffler-part"),
]
