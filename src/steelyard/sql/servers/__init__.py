"""PostgreSQL, MySQL and MariaDB in a worker: the check of statements, and an engine for each driver.

What a worker of a local engine owes to the operating system, one of a server owes to the role, to the session and to
the server's own limits: the process is confined likewise, with the connection as the only way out of it.
"""
