from django.urls import path

from notifications.api import AgainView, DeliveriesView, RotateView, TestView, WebhooksView, WebhookView
from notifications.mail_api import MailDeliveriesView, MailsView, MailTestView, MailView
from notifications.rules_api import RulesView, RuleView

urlpatterns = [
    path("rules/", RulesView.as_view(), name="api-rules"),
    path("rules/<slug:rule>/", RuleView.as_view(), name="api-rule"),
    path("webhooks/", WebhooksView.as_view(), name="api-webhooks"),
    path("webhooks/<slug:webhook>/", WebhookView.as_view(), name="api-webhook"),
    path("webhooks/<slug:webhook>/rotate/", RotateView.as_view(), name="api-webhook-rotate"),
    path("webhooks/<slug:webhook>/test/", TestView.as_view(), name="api-webhook-test"),
    path("webhooks/<slug:webhook>/deliveries/", DeliveriesView.as_view(), name="api-webhook-deliveries"),
    path(
        "webhooks/<slug:webhook>/deliveries/<uuid:message>/again/",
        AgainView.as_view(),
        name="api-webhook-again",
    ),
    path("mail-subscriptions/", MailsView.as_view(), name="api-mails"),
    path("mail-subscriptions/<slug:mail>/", MailView.as_view(), name="api-mail"),
    path("mail-subscriptions/<slug:mail>/test/", MailTestView.as_view(), name="api-mail-test"),
    path(
        "mail-subscriptions/<slug:mail>/deliveries/",
        MailDeliveriesView.as_view(),
        name="api-mail-deliveries",
    ),
]
