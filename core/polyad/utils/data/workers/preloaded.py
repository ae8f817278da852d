"""Imported by the fork server, so that the workers that it forks have everything loaded."""

from .process import prepare

prepare()
