"""What load balancers ask: does the process live, can it do its work."""

import logging

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from deliveries.deadline import database_answers
from invoicehub import static_files

logger = logging.getLogger(__name__)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. Asks nothing else: restarting it would not mend a database."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers, has every migration, and the pages have their files; else 503."""
    if problem := _problem():
        missing, sentence = problem
        logger.warning("not ready", extra={"problem": sentence})
        return JsonResponse(
            {"status": "not ready", "missing": missing, "problem": sentence}, status=503
        )
    return JsonResponse({"status": "ready"})


def _problem() -> tuple[str, str] | None:
    """Return what is missing, in a word or two, and a sentence that says more."""
    try:
        with database_answers():
            executor = MigrationExecutor(connection)
            missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as error:
        # Its text may name hosts and users: for the log, not for whoever asks.
        logger.warning("the database does not answer", exc_info=error)
        return "database", "The database does not answer."
    if missing:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in missing)
        return "migrations", f"Migrations are missing: {names}."
    if static_files.are_missing():
        return "static files", "Static files are missing: run collectstatic."
    return None
