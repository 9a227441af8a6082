from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from pages.account.views import (
    OwnPasswordView,
    OwnTokenRevokeView,
    OwnTokensView,
    SignOutEverywhereView,
)

urlpatterns = [
    path("sign-in/", LoginView.as_view(redirect_authenticated_user=True), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("password/", OwnPasswordView.as_view(), name="own-password"),
    path("sign-out-everywhere/", SignOutEverywhereView.as_view(), name="sign-out-everywhere"),
    path("tokens/", OwnTokensView.as_view(), name="own-tokens"),
    path("tokens/<slug:prefix>/revoke/", OwnTokenRevokeView.as_view(), name="own-token-revoke"),
]
