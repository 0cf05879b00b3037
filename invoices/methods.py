"""Which methods an address takes; the refusal is JSON for programs, as every other."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed

from invoices.access import View, error, wants_json


def only(*methods: str) -> Callable[[View], View]:
    """Answer other methods with 405. Stands above everything: it needs to know nobody."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method in methods:
                return view(request, *args, **kwargs)
            if not wants_json(request):
                return HttpResponseNotAllowed(methods)
            refusal = error(405, "method_not_allowed", f"Use {' or '.join(methods)}.")
            refusal.headers["Allow"] = ", ".join(methods)
            return refusal

        return wrapped

    return decorate
