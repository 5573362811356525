"""The processes in which untrusted SQL is run: starting, restricting, talking to and ending them.

pool         what a sandbox has open
processes    the caller's side: a template that forks workers, and a worker
copies       private copies of database files
wire         what caller, template and worker send each other
worker       the process that workers are forked from, and what a worker answers
confine      what the operating system takes from a worker: limits, and on Linux files
seccomp      and system calls, by a list of those that are allowed, with their numbers
"""
