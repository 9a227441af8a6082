"""Addresses of the tree, as in tlog-tiles, and of the witness, as in tlog-witness."""

from django.urls import path, re_path

from log.public_log import views

_PLACE = r"(?P<number>(?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?"

urlpatterns = [
    path("log/checkpoint", views.checkpoint, name="log-checkpoint"),
    path("log/policy", views.policy, name="log-policy"),
    re_path(rf"^log/tile/(?P<level>[0-9]|[1-9][0-9])/{_PLACE}$", views.tile, name="log-tile"),
    path("witness/add-checkpoint", views.add_checkpoint, name="witness-add-checkpoint"),
    re_path(
        r"^witness/(?P<origin_hash>[0-9a-f]{64})/checkpoint$", views.witnessed, name="witness-checkpoint"
    ),
    re_path(rf"^log/tile/entries/{_PLACE}$", views.entries, name="log-entries"),
]
