"""The periodic tasks of sites; other installations sign at once (`immediate_signing`)."""

from celery import shared_task

from log.public_log.cosignatures import witnesses_ask
from log.public_log.partner_keys import partner_keys_enter
from log.public_log.tree_growth import integrate
from storage import clock
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def integrate_entries() -> None:
    """Give new entries their leaves. Safe to run at any time, even twice."""
    partner_keys_enter()
    integrate()


@shared_task(base=PeriodicTask)
def ask_witnesses() -> None:
    """Have witnesses sign the newest checkpoint. Safe to run at any time, even twice."""
    witnesses_ask(now=clock.database_now())
