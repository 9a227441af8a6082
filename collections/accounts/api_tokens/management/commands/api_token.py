"""`manage.py api_token create|list|revoke`: tokens for programs."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.api_tokens.models import ApiToken
from accounts.api_tokens.operations import LONGEST_DAYS, token_create, token_revoke
from accounts.api_tokens.selectors import tokens_list
from panprivacy.formats.errors import FieldError
from web.scopes import scopes_declared

INPUT_ERROR = 2


class Command(BaseCommand):
    help = "Make, list and revoke API tokens, with which programs act for an account."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token; it is printed once, and never again")
        create.add_argument("--user", required=True, help="username of the account that it acts for")
        create.add_argument(
            "--scope",
            action="append",
            required=True,
            help=f"what it is for: {', '.join(scopes_declared())}; may be given several times",
        )
        create.add_argument(
            "--expires", required=True, metavar="30d", help=f"for how long it works: 1d to {LONGEST_DAYS}d"
        )
        create.add_argument("--name", default="command line", help="what you call it")
        listing = actions.add_parser("list", help="list tokens, without their secrets")
        listing.add_argument("--user", help="only those of this account")
        revoke = actions.add_parser("revoke", help="end a token for good")
        revoke.add_argument("prefix", help="its first eight digits, as `list` shows them")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, options["action"])(options)
        except FieldError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None

    def create(self, options: dict[str, Any]) -> None:
        days = re.fullmatch(r"([0-9]{1,4})d", options["expires"])
        if days is None:
            raise FieldError("expires", f"must be 1d to {LONGEST_DAYS}d, a number of days")
        token, text = token_create(
            user=_user(options["user"]),
            name=options["name"],
            scopes=options["scope"],
            days=int(days[1]),
            actor=None,
        )
        self.stdout.write(text)
        until = token.expires_at.strftime("%Y-%m-%d %H:%M UTC")
        self.stderr.write(f"Keep it safe: it is not shown again. It works until {until}.")

    def list(self, options: dict[str, Any]) -> None:
        tokens, now = tokens_list(), timezone.now()
        if options["user"] is not None:
            tokens = tokens.filter(user=_user(options["user"]))
        for token in tokens:
            ended = token.ended(now)
            used = f"last used {token.last_used_on}" if token.last_used_on else "never used"
            until = f"ended: {ended}" if ended else f"until {token.expires_at:%Y-%m-%d}"
            account, scopes = token.user.get_username(), " ".join(token.scopes)
            self.stdout.write(f"{token.prefix}  {account}  {token.name}  {scopes}  {until}  {used}")

    def revoke(self, options: dict[str, Any]) -> None:
        token = ApiToken.objects.filter(prefix=options["prefix"]).first()
        if token is None:
            raise FieldError("prefix", "no token begins with it; `list` shows them")
        token_revoke(token=token, actor=None)
        self.stdout.write(f"Revoked {token.prefix} ({token.name}).")


def _user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise FieldError("user", "no account has this name")
    return user
