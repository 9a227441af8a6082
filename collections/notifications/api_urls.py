from django.urls import path

from notifications.api import AgainView, DeliveriesView, RotateView, TestView, WebhooksView, WebhookView

urlpatterns = [
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
]
