"""The issuer's resources below its base address."""

from django.urls import path, re_path

from tokens.issuer import views

RECIPE = "^recipes/(?P<identifier>[0-9a-f]{64})"

urlpatterns = [
    path("token-keys", views.token_keys, name="issuer-token-keys"),
    re_path(f"{RECIPE}$", views.recipe, name="issuer-recipe"),
    re_path(f"{RECIPE}/end$", views.end, name="issuer-end"),
    path("tokens", views.tokens, name="issuer-tokens"),
]
