"""The emulator: experiment files, the two engines, and the command line."""
