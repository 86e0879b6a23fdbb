"""Serves an execution again, as a launcher does.

usage: serve.py LEGATO_FS EXECUTION SERVED STOP

Writes what the daemon says ("ready") to the file SERVED, and ends it when the
file STOP is there. Its exit status is the daemon's.
"""
import os
import socket
import subprocess
import sys
import time

program, execution, served, stop = sys.argv[1:]
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
child = subprocess.Popen(
    [program, "serve", "--execution", execution, "--control-fd",
     str(theirs.fileno())], pass_fds=[theirs.fileno()])
theirs.close()
message = ours.recv(100)
with open(served + ".new", "wb") as file:
    file.write(message or b"end of file")
os.rename(served + ".new", served)
while not os.path.exists(stop) and child.poll() is None:
    time.sleep(0.05)
ours.close()
sys.exit(child.wait())
