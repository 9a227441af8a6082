"""`manage.py attester_upkeep`: delete what is due, tell the issuer what was withheld; for a daily timer."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from log.public_log.partner_keys import partner_keys_enter
from panprivacy.protocols.oblivious_http.keys import decode_list
from partners.required_settings import required
from storage import clock
from tokens.attester.issuer import issuer
from tokens.attester.issuer_keys import keys_fetch
from tokens.attester.upkeep import upkeep, withheld_tell
from web.problems import Problem


class Command(BaseCommand):
    help = "Delete old answers and codes, and tell the issuer which tokens were withheld."

    def handle(self, *args: Any, **options: Any) -> None:
        partner_keys_enter()
        upkeep(now=clock.settled_now())
        try:
            config, *_ = decode_list(keys_fetch()[0])
            told = withheld_tell(
                issuer=issuer(), url=required(settings.ISSUER_URL, "PANAPP_ISSUER_URL"), config=config
            )
        except Problem as problem:
            raise CommandError(f"What was due is deleted. The issuer was not notified: {problem}") from None
        self.stdout.write(f"Done. The issuer was notified of {told:,} withheld tokens.")
