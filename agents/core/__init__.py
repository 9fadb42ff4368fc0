"""The vocabulary that protocols, memberships and hosts share."""
