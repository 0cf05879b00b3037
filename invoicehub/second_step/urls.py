from django.urls import path

from invoicehub.second_step import views

urlpatterns = [
    path("login/second-step", views.second_step, name="second_step"),
    path("login/second-step/app", views.set_up, name="second_step_setup"),
    path("login/second-step/codes", views.renew_codes, name="renew_backup_codes"),
    path("login/second-step/off", views.turn_off, name="turn_off_second_step"),
]
