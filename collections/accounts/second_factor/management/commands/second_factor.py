"""`second_factor reset`: for an account without phone and codes, if no administrator can do it."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.second_factor.operations import factor_remove
from storage.database import require_migrated_database

INPUT_ERROR = 2


class Command(BaseCommand):
    help = "Reset the second factor of an account: it can then sign in without one, or set up a new one."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        reset = actions.add_parser("reset", help="forget the second factor of an account")
        reset.add_argument("user", help="name of the account")

    def handle(self, *args: Any, **options: Any) -> None:
        require_migrated_database()
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError("no account has this name", returncode=INPUT_ERROR)
        if not factor_remove(user=user, actor=None):
            raise CommandError("the account has no second factor", returncode=INPUT_ERROR)
        self.stdout.write(f"Reset the second factor of {user.get_username()}")
