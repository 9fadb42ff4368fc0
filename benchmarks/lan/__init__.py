"""How long a LAN takes to stand, to be joined and to go, beside bare containers and cables."""
