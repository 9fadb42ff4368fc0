"""The agent's process: real sockets, real time, and the supervisor of a machine's agents."""
