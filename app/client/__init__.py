"""Client of a running server, for the commands that talk to one."""
