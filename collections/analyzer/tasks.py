"""Tasks carry identifiers only; each is safe to run at any time, twice."""

from celery import shared_task
from django.utils import timezone

from analyzer.intake import LEASE, intake_drive, intakes_take
from analyzer.models import Intake
from analyzer.peers import shuffler_of


@shared_task
def advance_intakes() -> None:
    """Send what is due to the workers: questions to shufflers, and farewells."""
    for intake in intakes_take(now=timezone.now()):
        drive_intake.delay(intake)


# Those that nobody took up within the lease are sent anew.
@shared_task(expires=LEASE.total_seconds())
def drive_intake(intake: int) -> None:
    """Bring the batch of one recipe one step on."""
    row = Intake.objects.select_related("recipe").filter(pk=intake).first()
    if row is not None:
        intake_drive(intake=row, shuffler=shuffler_of(row.recipe), now=timezone.now())
