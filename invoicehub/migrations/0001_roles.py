"""The groups of people who work in the admin. Being an organization's member gives none of them.

*Support* sees, searches, corrects what cannot be sent, replays and cancels; *Operations* steers
lanes and sees workers, but no message; *Auditor* sees all and changes nothing.
"""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations

SEE = (
    "deliveries.view_delivery",
    "deliveries.view_deliveryevent",
    "deliveries.view_lane",
    "deliveries.view_laneevent",
    "deliveries.view_workerpresence",
)
SEE_WHAT_WAS_SENT = (
    "deliveries.view_message",
    "invoices.view_organization",
    "invoices.view_customer",
    "invoices.view_invoice",
    "invoices.view_invoiceline",
)
CORRECT = (
    "invoices.change_customer",
    "invoices.change_invoice",
    "invoices.add_invoiceline",
    "invoices.change_invoiceline",
    "invoices.delete_invoiceline",
)
ROLES = {
    "Support": (
        *SEE,
        *SEE_WHAT_WAS_SENT,
        *CORRECT,
        "deliveries.replay_delivery",
        "deliveries.cancel_delivery",
    ),
    "Operations": (*SEE, "deliveries.steer_lane"),
    "Auditor": (
        *SEE,
        *SEE_WHAT_WAS_SENT,
        "invoices.view_member",
        "invoices.view_apitoken",
        "admin.view_logentry",
    ),
}


def make_roles(apps: Any, schema_editor: Any) -> None:
    # Permissions are otherwise made after the last migration.
    for label in ("deliveries", "invoices", "admin"):
        config = installed.get_app_config(label)
        create_permissions(config, verbosity=0, apps=apps, using=schema_editor.connection.alias)
    group = apps.get_model("auth", "Group")
    permission = apps.get_model("auth", "Permission")
    for name, wanted in ROLES.items():
        role, _ = group.objects.get_or_create(name=name)
        for label, codename in (word.split(".") for word in wanted):
            role.permissions.add(
                permission.objects.get(content_type__app_label=label, codename=codename)
            )


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("deliveries", "0003_support"),
        ("invoices", "0001_organizations_and_invoices"),
    ]

    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop, elidable=False)]
