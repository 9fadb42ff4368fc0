"""Dissemination protocols, one file each, registered on its last line."""
