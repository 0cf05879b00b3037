"""Organizations, their people, and the tokens that act for them."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from invoices import validation


class Organization(models.Model):
    """A company that sends invoices. Organizations never see or delay each other."""

    name = models.CharField(max_length=240, validators=[validation.one_line])
    slug = models.SlugField(max_length=60, db_index=False)
    sender_name = models.CharField(
        max_length=240,
        blank=True,
        default="",
        db_default="",
        validators=[validation.one_line],
        help_text="What customers see as the sender; empty for the organization's name.",
    )
    email = models.EmailField(help_text="Where customers' answers go.")
    address = models.TextField(blank=True, default="", validators=[validation.plain_text])
    tax_id = models.CharField(max_length=60, blank=True, default="")
    payment_details = models.TextField(blank=True, default="", validators=[validation.plain_text])
    language = models.CharField(max_length=20, default="en", validators=[validation.known_locale])
    time_zone = models.CharField(
        max_length=60, default="UTC", validators=[validation.known_time_zone]
    )
    reminders_enabled = models.BooleanField(
        default=True, help_text="Remind customers of overdue invoices, Monday to Friday."
    )
    reminders_after_days = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text="How many days an invoice must be overdue before its first reminder.",
    )
    reminder_limit = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="At most so many reminders for one invoice; empty for no limit.",
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("slug", name="organization_slug"),
            models.CheckConstraint(
                name="organization_reminders_after_days_positive",
                condition=Q(reminders_after_days__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A user's place in an organization."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        MEMBER = "member", "Member"
        VIEWER = "viewer", "Viewer"

    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, db_index=False, related_name="members"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=20, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("organization", "user", name="member_once_per_organization"),
            models.CheckConstraint(
                name="member_role", condition=Q(role__in=["owner", "member", "viewer"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.organization} ({self.role})"

    @property
    def may_send(self) -> bool:
        return self.role in {self.Role.OWNER, self.Role.MEMBER}

    @property
    def may_configure(self) -> bool:
        return self.role == self.Role.OWNER


class ApiToken(models.Model):
    """A bearer token that acts as one member. Only its hash is kept."""

    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint("token_hash", name="api_token_hash")]

    def __str__(self) -> str:
        return self.name
