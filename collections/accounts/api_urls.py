from django.urls import path

from accounts.api import AccountsView, AccountView

urlpatterns = [
    path("accounts/", AccountsView.as_view(), name="api-accounts"),
    path("accounts/<str:username>/", AccountView.as_view(), name="api-account"),
]
