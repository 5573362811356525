"""The processes in which SQL of others is run: started, held by the operating system, talked to, and ended.

pool         what a sandbox has open
processes    the caller's side: a template that forks workers, and a worker
copies       private copies of database files
commands     what caller and template say to each other
wire         what caller and worker say to each other
template     the process that workers are forked from
worker       one work after another
confine      what the operating system takes from a worker: limits, and on Linux
landlock         files
seccomp          network and other processes
"""
