from django.db import OperationalError


class ServerFailed(OperationalError):
    """The private PostgreSQL does not run, and the message says why.

    An OperationalError, so that whoever copes with a database that is away copes with this too.
    """
