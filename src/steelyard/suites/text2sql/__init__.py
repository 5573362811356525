"""Questions to a database: does the SQL that a target writes parse, run, and return what the reference's returns?"""
