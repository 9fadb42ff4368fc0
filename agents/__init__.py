"""What runs inside a peer: protocols, memberships and the application's interface.

Nothing in here knows a socket, a clock, a file or the global random generator.
"""
