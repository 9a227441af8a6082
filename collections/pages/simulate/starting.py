"""How a simulation starts from a form: about how long it takes, and what is computed before it can."""

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from recipes.planner.guarantees import NotComputedError
from storage.answers.questions import State
from web.htmx import htmx_of


def rounded_seconds(seconds: float) -> int:
    """For “about”: to 5 seconds, 30 beyond one minute, and minutes beyond ten."""
    step = next((step for most, step in ((60, 5), (600, 30)) if seconds < most), 60)
    return max(step, step * round(seconds / step))


def awaited_start(form: Form, error: NotComputedError) -> bool:
    """Whether the form sends itself again until its simulation starts, because what the recipe guarantees is
    being computed. If no worker can compute it, that is among the form's errors."""
    if error.state is State.TOO_LONG:
        form.add_error(None, f"Nothing was started: {error}.")
    return error.state is not State.TOO_LONG


def started(request: HttpRequest, address: str) -> HttpResponse:
    """The answer once it has started: on to its page."""
    if not htmx_of(request):
        return redirect(address)
    response = HttpResponse(status=204)
    response["HX-Redirect"] = address
    return response
