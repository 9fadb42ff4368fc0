"""The emulated LAN: real agents in containers, on links whose rate and loss are kept."""
