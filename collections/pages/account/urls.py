from django.contrib.auth.views import LogoutView
from django.urls import path

from pages.account.oidc import ProviderAnswerView, ProviderSignInView
from pages.account.second_factor import SecondFactorView
from pages.account.sign_in import CodeView, EnrolView, SignInView
from pages.account.views import (
    OwnPasswordView,
    OwnTokenRevokeView,
    OwnTokensView,
    SignOutEverywhereView,
)

urlpatterns = [
    path("sign-in/", SignInView.as_view(), name="sign-in"),
    path("sign-in/code/", CodeView.as_view(), name="sign-in-code"),
    path("sign-in/second-factor/", EnrolView.as_view(), name="sign-in-enrol"),
    path("sign-in/organization/", ProviderSignInView.as_view(), name="sign-in-organization"),
    path("sign-in/organization/answer/", ProviderAnswerView.as_view(), name="sign-in-organization-answer"),
    path("second-factor/", SecondFactorView.as_view(), name="second-factor"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("password/", OwnPasswordView.as_view(), name="own-password"),
    path("sign-out-everywhere/", SignOutEverywhereView.as_view(), name="sign-out-everywhere"),
    path("tokens/", OwnTokensView.as_view(), name="own-tokens"),
    path("tokens/<slug:prefix>/revoke/", OwnTokenRevokeView.as_view(), name="own-token-revoke"),
]
