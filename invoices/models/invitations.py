"""Who is asked to become a member."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now

from invoices import validation
from invoices.models.organizations import Member, Organization


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> InvitationQuerySet:
        """Neither accepted nor revoked; it may have expired, and wait for a new link."""
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True)

    def revoke(self) -> int:
        return self.open().update(revoked_at=Now())


class Invitation(models.Model):
    """A link that makes whoever opens it a member. Only the link's hash is kept."""

    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, db_index=False, related_name="invitations"
    )
    email = models.CharField(max_length=150, validators=[validation.one_line])
    role = models.CharField(max_length=20, choices=Member.Role)
    token_hash = models.CharField(max_length=64)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            # Opening a link.
            models.UniqueConstraint("token_hash", name="invitation_token_hash"),
            # Two owners who invite the same person at once.
            models.UniqueConstraint(
                F("organization"),
                Lower("email"),
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
                name="invitation_open_once_per_address",
            ),
            models.CheckConstraint(
                name="invitation_role", condition=Q(role__in=["owner", "member", "viewer"])
            ),
            models.CheckConstraint(
                name="invitation_accepted_or_revoked",
                condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"Invitation {self.pk} to {self.organization_id}"
