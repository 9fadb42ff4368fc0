"""How fast the simulator is, against a floor, a peer and its own aims."""
