from django.urls import path

from pages.notifications.rules import RuleDeleteView, RuleView
from pages.notifications.views import (
    AgainView,
    ConfirmView,
    DeleteView,
    MailSubscribeView,
    NotificationsView,
    RotateView,
    SubscriptionView,
    TestView,
    UnsubscribeView,
)

urlpatterns = [
    path("notifications/", NotificationsView.as_view(), name="notifications"),
    path("notifications/mail/", MailSubscribeView.as_view(), name="notifications-mail"),
    path(
        "notifications/confirm/<slug:identifier>/<int:expires>/<slug:code>/",
        ConfirmView.as_view(),
        name="notifications-confirm",
    ),
    path(
        "notifications/unsubscribe/<slug:identifier>/<slug:code>/",
        UnsubscribeView.as_view(),
        name="notifications-unsubscribe",
    ),
    path("notifications/rules/", RuleView.as_view(), name="rule-new"),
    path("notifications/rules/<slug:rule>/delete/", RuleDeleteView.as_view(), name="rule-delete"),
    path("notifications/<slug:identifier>/", SubscriptionView.as_view(), name="notifications-one"),
    path("notifications/<slug:identifier>/test/", TestView.as_view(), name="notifications-test"),
    path("notifications/<slug:identifier>/rotate/", RotateView.as_view(), name="notifications-rotate"),
    path("notifications/<slug:identifier>/delete/", DeleteView.as_view(), name="notifications-delete"),
    path(
        "notifications/<slug:identifier>/deliveries/<uuid:message>/again/",
        AgainView.as_view(),
        name="notifications-again",
    ),
]
