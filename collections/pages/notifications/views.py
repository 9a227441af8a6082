"""Pages of one's own subscriptions, and the two links that mails have."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from log.audit.access import signed_in_user
from notifications.models import Subscription
from notifications.operations import (
    NotificationStateError,
    delivery_again,
    mail_confirm,
    mail_subscribe,
    mail_unavailable,
    secret_rotate,
    subscription_delete,
    trial_send,
    unavailable,
    webhook_create,
)
from notifications.rules import rules_of
from notifications.selectors import (
    by_confirmation,
    by_unsubscription,
    deliveries_of,
    subscriptions_of,
)
from pages.account.views import OwnView
from pages.notifications.forms import MailForm, WebhookForm
from pages.notifications.rules import rules_shown
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from web.paging import page_of

PAGE_SIZE = 50


class NotificationsView(OwnView):
    """The account's subscriptions, and a form for a new webhook."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _page(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = WebhookForm(request.POST)
        if form.is_valid():
            try:
                made, secret = webhook_create(
                    user=signed_in_user(request),
                    url=form.cleaned_data["url"],
                    events=form.cleaned_data["events"],
                )
            except FieldError as error:
                form.add_field_error(error)
            except NotificationStateError as error:
                form.add_error(None, sentence(str(error)))
            else:
                # In the answer itself and nowhere else: a redirect would have to keep it until then.
                return _one(request, made, secret=secret)
        return _page(request, webhook=form, status=422)


class MailSubscribeView(OwnView):
    """Ask for a link by e-mail."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = MailForm(request.POST)
        if form.is_valid():
            try:
                mail_subscribe(
                    user=signed_in_user(request),
                    address=form.cleaned_data["address"],
                    events=form.cleaned_data["events"],
                )
            except FieldError as error:
                form.add_field_error(error)
            except NotificationStateError as error:
                form.add_error(None, sentence(str(error)))
            else:
                messages.success(request, "Open the link that we send to your address. It works for 2 days.")
                return redirect("notifications")
        return _page(request, mail=form, status=422)


class SubscriptionView(OwnView):
    """One subscription, and what was sent."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        return _one(request, _own(request, identifier))


class TestView(OwnView):
    """Send a test."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        try:
            trial_send(subscription=_own(request, identifier))
        except NotificationStateError as error:
            messages.error(request, sentence(str(error)))
        else:
            messages.success(request, "A test is on its way. Reload the page to see what came of it.")
        return redirect("notifications-one", identifier)


class RotateView(OwnView):
    """A new secret, shown once."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        own = _own(request, identifier)
        try:
            secret = secret_rotate(subscription=own, actor=signed_in_user(request))
        except NotificationStateError as error:
            messages.error(request, sentence(str(error)))
            return redirect("notifications-one", identifier)
        own.refresh_from_db()
        return _one(request, own, secret=secret)


class DeleteView(OwnView):
    """End a subscription."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        subscription_delete(subscription=_own(request, identifier), actor=signed_in_user(request))
        messages.success(request, "The subscription is deleted.")
        return redirect("notifications")


class AgainView(OwnView):
    """Send a message again."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str, message: uuid.UUID) -> HttpResponse:
        row = get_object_or_404(deliveries_of(_own(request, identifier)), message=message)
        try:
            delivery_again(delivery=row)
        except NotificationStateError as error:
            messages.error(request, sentence(str(error)))
        else:
            messages.success(request, "The message is sent again.")
        return redirect("notifications-one", identifier)


@method_decorator(never_cache, name="dispatch")
class ConfirmView(View):
    """The link that confirms an address. A GET changes nothing: programs open links in mails."""

    def get(self, request: HttpRequest, identifier: str, expires: int, code: str) -> HttpResponse:
        found = by_confirmation(identifier, expires, code)
        return _link(request, "confirm", found)

    def post(self, request: HttpRequest, identifier: str, expires: int, code: str) -> HttpResponse:
        found = by_confirmation(identifier, expires, code)
        if found is None:
            return _link(request, "confirm", None)
        try:
            mail_confirm(subscription=found)
        except NotificationStateError:
            return _link(request, "confirm", found)
        return _link(request, "confirm", found, done=True)


# The button of mail programs posts without a form of ours (RFC 8058). The code in the address is what counts.
@method_decorator([never_cache, csrf_exempt], name="dispatch")
class UnsubscribeView(View):
    """The link that ends a subscription by e-mail."""

    def get(self, request: HttpRequest, identifier: str, code: str) -> HttpResponse:
        return _link(request, "unsubscribe", by_unsubscription(identifier, code))

    def post(self, request: HttpRequest, identifier: str, code: str) -> HttpResponse:
        found = by_unsubscription(identifier, code)
        if found is not None:
            subscription_delete(subscription=found, actor=None)
        return _link(request, "unsubscribe", found, done=found is not None)


def _own(request: HttpRequest, identifier: str) -> Subscription:
    return get_object_or_404(subscriptions_of(signed_in_user(request)), identifier=identifier)


def _page(request: HttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    context = {
        "subscriptions": subscriptions_of(signed_in_user(request)),
        "rules": rules_shown(rules_of(signed_in_user(request))),
        "unavailable": unavailable(),
        "mail_unavailable": mail_unavailable(),
        "webhook": WebhookForm(),
        "mail": MailForm(),
        **forms,
    }
    return render(request, "notifications/list.html", context, status=status)


def _one(request: HttpRequest, subscription: Subscription, secret: str = "") -> HttpResponse:
    page = page_of(deliveries_of(subscription), request, PAGE_SIZE)
    context = {"subscription": subscription, "page": page, "secret": secret}
    return render(request, "notifications/one.html", context)


def _link(request: HttpRequest, kind: str, found: Subscription | None, *, done: bool = False) -> HttpResponse:
    context = {"kind": kind, "found": found, "done": done}
    return render(request, "notifications/link.html", context, status=200 if found else 404)
