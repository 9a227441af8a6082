"""The attester's resources below its base address."""

from django.urls import path

from tokens.attester import views

urlpatterns = [
    path("token", views.token, name="attester-token"),
    path("issuer-keys", views.issuer_keys, name="attester-issuer-keys"),
    path("enrolments", views.enrolments, name="attester-enrolments"),
    path("nonce", views.nonce, name="attester-nonce"),
]
