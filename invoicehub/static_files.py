"""Whether `collectstatic` has run: in production no page can be made without what it writes."""

from django.contrib.staticfiles.storage import staticfiles_storage

# Every page has it.
_ONE = "invoices/site.css"


def are_missing() -> bool:
    """Tell whether pages would fail; never in development, where files are found without it."""
    # Only a storage with a manifest has them.
    collected: dict[str, str] | None = getattr(staticfiles_storage, "hashed_files", None)
    return collected is not None and _ONE not in collected
