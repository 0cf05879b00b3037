"""What owners set: the sender's name, the logo, the e-mails' texts; and whom they invite."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Lower, Now

import invoices.validation

ROLES = [("owner", "Owner"), ("member", "Member"), ("viewer", "Viewer")]


def _by_user() -> models.ForeignKey:  # type: ignore[type-arg]
    return models.ForeignKey(
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("invoices", "0007_drafts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="organization",
            name="sender_name",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What customers see as the sender; empty for the organization's name.",
                max_length=240,
                validators=[invoices.validation.one_line],
            ),
        ),
        migrations.CreateModel(
            name="Logo",
            fields=[
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="logo",
                        serialize=False,
                        to="invoices.organization",
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "content_type",
                    models.CharField(
                        choices=[("image/png", "PNG"), ("image/jpeg", "JPEG")], max_length=20
                    ),
                ),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=64)),
                ("uploaded_by", _by_user()),
                ("uploaded_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(content_type__in=["image/png", "image/jpeg"]),
                        name="logo_content_type",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EmailText",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="email_texts",
                        to="invoices.organization",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("invoice", "Invoice"), ("reminder", "Reminder")], max_length=20
                    ),
                ),
                (
                    "subject",
                    models.CharField(
                        blank=True,
                        default="",
                        max_length=240,
                        validators=[invoices.validation.one_line],
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        blank=True,
                        default="",
                        validators=[
                            invoices.validation.plain_text,
                            django.core.validators.MaxLengthValidator(5000),
                        ],
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("organization"),
                        models.F("kind"),
                        name="email_text_once_per_organization",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(kind__in=["invoice", "reminder"]), name="email_text_kind"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="invoices.organization",
                    ),
                ),
                (
                    "email",
                    models.CharField(max_length=150, validators=[invoices.validation.one_line]),
                ),
                ("role", models.CharField(choices=ROLES, max_length=20)),
                ("token_hash", models.CharField(max_length=64)),
                ("invited_by", _by_user()),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("accepted_by", _by_user()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(models.F("token_hash"), name="invitation_token_hash"),
                    models.UniqueConstraint(
                        models.F("organization"),
                        Lower("email"),
                        condition=models.Q(accepted_at__isnull=True, revoked_at__isnull=True),
                        name="invitation_open_once_per_address",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(role__in=["owner", "member", "viewer"]),
                        name="invitation_role",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(accepted_at__isnull=True)
                        | models.Q(revoked_at__isnull=True),
                        name="invitation_accepted_or_revoked",
                    ),
                ],
            },
        ),
    ]
