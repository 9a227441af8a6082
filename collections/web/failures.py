"""Answering failures: problem documents for what was refused, and for a database that is busy or keys that
are out of reach."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from storage.key_service import KeyServiceError
from web.problems import Problem, method_not_allowed, unavailable

logger = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]
About = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Fields of a problem document in addition to its own, made from a view's arguments."""

FAILURES = (Problem, OperationalError, KeyServiceError)
"""What `failure_response` answers; anything else is a fault of ours."""


def silent_service() -> str | None:
    """What did not answer, as a sentence begins, if that is the exception being handled; else None. For
    handlers that Django calls without it."""
    failure = sys.exception()
    if isinstance(failure, OperationalError | InterfaceError):
        return "The database"
    return "The key service" if isinstance(failure, KeyServiceError) else None


def failure_response(
    failure: Problem | OperationalError | KeyServiceError,
    *,
    methods: Sequence[str],
    undone: str,
    members: Mapping[str, Any] | None = None,
    private: bool = False,
) -> HttpResponse:
    """The answer to a request that came to nothing.

    Args:
        methods: what `Allow` names if the method was wrong.
        undone: what did not happen and what to do, in sentences, for a database that is busy. Nothing was
            done then: a transaction is whole or not at all.
        members: of the problem document, in addition to its own.
        private: whether the log must not hold the database's message, because it may quote the request.
    """
    if isinstance(failure, Problem):
        problem = failure
    elif isinstance(failure, KeyServiceError):
        problem = unavailable("The key service does not answer. Nothing was changed. Ask again.")
        logger.error("key_service_failed", reason=str(failure))
    else:
        problem = unavailable(undone)
        # The code that raised it may have logged it already (reports.object_store).
        if not getattr(failure, "is_told", False):
            said = {"error": type(failure).__name__} if private else {"exc_info": failure}
            logger.error("database_unavailable", **said)
    problem.members.update(members or {})
    response = problem.response()
    if problem.status == 405:
        response["Allow"] = ", ".join(methods)
    return response


def about_nothing(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """No further fields."""
    return {}


def receiving(*, undone: str, about: About = about_nothing, private: bool = False) -> Callable[[View], View]:
    """A plain view that takes in what is POSTed, for the hot path; its failures are problem documents.

    Args:
        undone, private: as in `failure_response`.
        about: see `About`.
    """

    def decorate(view: View) -> View:
        @csrf_exempt  # no session is read: there is nothing to forge
        @wraps(view)
        def answer(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                if request.method != "POST":
                    raise method_not_allowed("POST")
                return view(request, **arguments)
            except FAILURES as failure:
                members = about(arguments)
                return failure_response(
                    failure, methods=("POST",), undone=undone, members=members, private=private
                )

        return answer

    return decorate
