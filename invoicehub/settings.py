"""Settings of InvoiceHub, all from the environment; docs/configuration.md explains each."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from invoicehub import environment as read

VERSION = "0.1.0"
BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = read.flag("DEBUG", default=True)
LOG_LEVEL = read.one_of("LOG_LEVEL", {"DEBUG", "INFO", "WARNING", "ERROR"}, "INFO")
LOG_FORMAT = read.one_of("LOG_FORMAT", {"json", "console"}, "console" if DEBUG else "json")

SECRET_KEY = read.text("SECRET_KEY")
if not SECRET_KEY:
    if not DEBUG:
        raise ImproperlyConfigured(
            "SECRET_KEY must be set when DEBUG is off: a long random string, kept secret."
        )
    SECRET_KEY = "development-only-" + "0" * 50
# Keys of before, newest first: what they signed still holds, and nothing new is signed by them.
SECRET_KEY_FALLBACKS = read.words("SECRET_KEY_FALLBACKS")

ALLOWED_HOSTS = read.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]" if DEBUG else "")
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured(
        "ALLOWED_HOSTS must name the hosts that serve this site, such as invoices.company.example."
    )

INSTALLED_APPS = [
    "invoices",
    "deliveries",
    "invoicehub",
    "invoicehub.admin_site.SupportAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
]

MIDDLEWARE = [
    "invoicehub.correlation.CorrelationMiddleware",
    "invoicehub.security_headers.SecurityHeaders",
    "invoicehub.probes.ProbesFirst",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "invoicehub.null_characters.RefuseNullCharacters",
    "invoicehub.body_limit.RefuseLargeBodies",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "invoices.tokens.BearerTokenMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "invoices.tokens.TokenUserMiddleware",
    "invoicehub.second_step.middleware.SecondStep",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "invoicehub.urls"
WSGI_APPLICATION = "invoicehub.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database -------------------------------------------------------------------------------------


# What sits between this and PostgreSQL, if anything: it decides what a connection can hold on to.
DATABASE_POOLER = read.one_of("DATABASE_POOLER", {"none", "transaction"}, "none")


def _databases() -> dict[str, dict[str, Any]]:
    """Use DATABASE_URL; without one, in development, a private PostgreSQL of the project's own."""
    default = read.postgres("DATABASE_URL")
    if not default:
        if not DEBUG:
            raise ImproperlyConfigured(
                "DATABASE_URL must be set when DEBUG is off: "
                "the embedded PostgreSQL is for development only."
            )
        default = {
            "ENGINE": "invoicehub.embedded",
            "NAME": "invoicehub",
            "DATA_DIRECTORY": read.folder("EMBEDDED_POSTGRES_DIR", BASE_DIR / ".postgres"),
        }
    # A cursor that outlives its statement needs the same server connection for the next one.
    default["DISABLE_SERVER_SIDE_CURSORS"] = DATABASE_POOLER == "transaction"
    databases = {"default": default}
    # Past the pooler, for what needs a session of its own: the worker's LISTEN.
    if direct := read.postgres("DATABASE_DIRECT_URL"):
        databases["direct"] = direct
    return {
        alias: database | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
        for alias, database in databases.items()
    }


DATABASES = _databases()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Deliveries -----------------------------------------------------------------------------------

EMAIL_PROVIDER = read.text("EMAIL_PROVIDER", "sandbox")
_URLS = {"sandbox": "http://127.0.0.1:8025", "resend": "https://api.resend.com"}
EMAIL_PROVIDER_URL = read.http_url("EMAIL_PROVIDER_URL", _URLS.get(EMAIL_PROVIDER, ""))
EMAIL_PROVIDER_API_KEY = read.text("EMAIL_PROVIDER_API_KEY")
EMAIL_PROVIDER_WEBHOOK_KEYS = read.webhook_keys("EMAIL_PROVIDER_WEBHOOK_SECRET")
if EMAIL_PROVIDER == "resend" and not EMAIL_PROVIDER_WEBHOOK_KEYS and not DEBUG:
    raise ImproperlyConfigured(
        "EMAIL_PROVIDER_WEBHOOK_SECRET must be set when DEBUG is off: the secret (whsec_…) of the "
        "provider's webhook to /webhooks/email, without which bounces would go unnoticed."
    )
EMAIL_FROM = read.address("EMAIL_FROM", "invoices@invoicehub.example")

# For EMAIL_PROVIDER=smtp, and for Django's own mail to admins.
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
EMAIL_SECURITY = read.one_of("EMAIL_SECURITY", set(_PORTS), "starttls")
# No mail server is guessed where invoices depend on it: the adapter asks for one.
EMAIL_HOST = read.text("EMAIL_HOST", "" if EMAIL_PROVIDER == "smtp" else "localhost")
EMAIL_PORT = read.port("EMAIL_PORT", default=_PORTS[EMAIL_SECURITY])
EMAIL_HOST_USER = read.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = read.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = EMAIL_SECURITY == "starttls"
EMAIL_USE_SSL = EMAIL_SECURITY == "tls"

DELIVERY_CONCURRENCY = read.whole_number("DELIVERY_CONCURRENCY", default=5, maximum=1_000)
DELIVERY_RATE_PER_SECOND = read.rate("DELIVERY_RATE_PER_SECOND")
DELIVERY_LEASE_SECONDS = read.seconds("DELIVERY_LEASE_SECONDS", default=60)
DELIVERY_SEND_TIMEOUT_SECONDS = read.seconds("DELIVERY_SEND_TIMEOUT_SECONDS", default=15)
EMAIL_TIMEOUT = DELIVERY_SEND_TIMEOUT_SECONDS
DELIVERY_MAX_CLAIMS = read.whole_number("DELIVERY_MAX_CLAIMS", default=3, maximum=1_000)
DELIVERY_MAX_ATTEMPTS = read.whole_number("DELIVERY_MAX_ATTEMPTS", default=16, maximum=1_000)
DELIVERY_BACKOFF_BASE_SECONDS = read.seconds("DELIVERY_BACKOFF_BASE_SECONDS", default=5)
DELIVERY_BACKOFF_CAP_SECONDS = read.seconds("DELIVERY_BACKOFF_CAP_SECONDS", default=900)
DELIVERY_OUTAGE_SECONDS = read.seconds("DELIVERY_OUTAGE_SECONDS", default=3600)
# None: as long as the adapter of EMAIL_PROVIDER says.
DELIVERY_KEY_LIFETIME_SECONDS = read.seconds_if_set("DELIVERY_KEY_LIFETIME_SECONDS")
DELIVERY_POLL_SECONDS = read.seconds("DELIVERY_POLL_SECONDS", default=1)
# How long `archive_deliveries` leaves the text and PDF of an e-mail that was sent.
MESSAGE_RETENTION_DAYS = read.whole_number("MESSAGE_RETENTION_DAYS", default=365, maximum=36_500)
# And how long the events that the provider posted; less than two days would forget repeats' ids.
PROVIDER_EVENT_RETENTION_DAYS = read.whole_number(
    "PROVIDER_EVENT_RETENTION_DAYS", default=90, minimum=2, maximum=36_500
)

# People and pages -----------------------------------------------------------------------------

CSRF_FAILURE_VIEW = "invoicehub.failures.csrf_failed"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "invoice_list"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Staff may set up a second step for themselves; with this, the admin demands it of them.
REQUIRE_STAFF_TOTP = read.flag("REQUIRE_STAFF_TOTP", default=False)
OTP_TOTP_ISSUER = "InvoiceHub"
# Else whoever may look at people's devices in the admin could read their keys.
OTP_ADMIN_HIDE_SENSITIVE_DATA = True
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = read.folder("STATIC_ROOT", BASE_DIR / "staticfiles")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG

# Production safety ----------------------------------------------------------------------------

CSRF_TRUSTED_ORIGINS = read.words("CSRF_TRUSTED_ORIGINS")
# How many proxies stand in front, each of which sets X-Forwarded-Proto and appends to
# X-Forwarded-For. Without one, whoever asks could write these headers himself.
TRUSTED_PROXIES = read.whole_number(
    "TRUSTED_PROXIES", default=0 if DEBUG else 1, minimum=0, maximum=100
)
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# An import's file is the largest thing anybody sends; forms are far smaller.
MAX_REQUEST_BYTES = read.whole_number("MAX_REQUEST_BYTES", default=25 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000
DATA_UPLOAD_MAX_NUMBER_FILES = 5

X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_AGE = read.whole_number(
    "SESSION_COOKIE_AGE", default=14 * 86400, maximum=read.TEN_YEARS
)
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
KNOWN_BROWSER_COOKIE_NAME = "knownbrowser"
if not DEBUG:
    SECURE_SSL_REDIRECT = read.flag("SECURE_SSL_REDIRECT", default=True)
    # Prometheus comes over plain HTTP from inside the network, and so do probes: see `ProbesFirst`.
    SECURE_REDIRECT_EXEMPT = [r"^metrics$"]
    SECURE_HSTS_SECONDS = read.whole_number(
        "SECURE_HSTS_SECONDS", default=31_536_000, minimum=0, maximum=read.TEN_YEARS
    )
    SECURE_HSTS_INCLUDE_SUBDOMAINS = read.flag("SECURE_HSTS_INCLUDE_SUBDOMAINS", default=True)
    SECURE_HSTS_PRELOAD = read.flag("SECURE_HSTS_PRELOAD", default=True)
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    # The prefix has browsers refuse such a cookie from a neighbouring host, or without TLS.
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
    KNOWN_BROWSER_COOKIE_NAME = "__Host-knownbrowser"

# Monitoring -----------------------------------------------------------------------------------

METRICS_TOKEN = read.text("METRICS_TOKEN")
# Where `run_delivery_worker --metrics-port` listens.
WORKER_METRICS_ADDRESS = read.ip_address("WORKER_METRICS_ADDRESS", "127.0.0.1")
# What authenticates bearer tokens of its own: they are no API tokens.
API_TOKENS_NOT_AT = ["/metrics"]

# Logs -----------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "correlation": {"()": "invoicehub.logs.CorrelationFilter"},
        "secrets": {"()": "invoicehub.logs.SecretsFilter"},
        "host_refused": {"()": "invoicehub.logs.HostRefusedFilter"},
    },
    "formatters": {
        "json": {"()": "invoicehub.logs.JsonFormatter"},
        "console": {"()": "invoicehub.logs.ConsoleFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["correlation", "secrets"],
            "formatter": LOG_FORMAT,
        },
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "deliveries": {"level": LOG_LEVEL},
        "invoices": {"level": LOG_LEVEL},
        "invoicehub": {"level": LOG_LEVEL},
        # Django's own handlers would say everything a second time.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.security.DisallowedHost": {"filters": ["host_refused"]},
    },
}
