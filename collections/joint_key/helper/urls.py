"""The helper's resources for recipes with a joint key, below its base address."""

from django.urls import re_path

from joint_key.helper import views

KEY = "^joint-keys/(?P<key_request>[0-9a-f]{32})"
RECIPE = "^joint-recipes/(?P<identifier>[0-9a-f]{64})"

urlpatterns = [
    re_path(f"{KEY}/commitment$", views.commitment, name="joint-key-commitment"),
    re_path(f"{KEY}/half$", views.half, name="joint-key-half"),
    re_path(f"{KEY}/strings$", views.strings, name="joint-key-strings"),
    re_path(f"{RECIPE}$", views.recipe, name="joint-recipe"),
    re_path(rf"{RECIPE}/parts/(?P<number>[0-9]{{1,9}})$", views.part, name="joint-part"),
    re_path(f"{RECIPE}/list$", views.accepted_list, name="joint-list"),
    re_path(f"{RECIPE}/decryption$", views.decryption, name="joint-decryption"),
]
