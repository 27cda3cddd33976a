"""A server whose memory is limited by a control group of Linux, and whose files are not in memory when it starts."""

import os
import subprocess
import sys

from side_by_side import Session, say

# where groups are made, and the file that has the limit: the first version of control groups, and the second
PLACES = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))


class LimitedMemory:
    """Restarts a server of test/server.sh. Pages that are read count toward the limit, as do shared buffers."""

    def __init__(self, server, shared_buffers):
        self.server = server
        parent, self.limit = next((each for each in PLACES if os.path.exists(f"{each[0]}/cgroup.procs") and
                                   os.access(each[0], os.W_OK)), (None, None))
        if parent is None:
            sys.exit("no control group can be made here: this section needs root")
        self.group = f"{parent}/hybrid-bench-{os.getpid()}"
        self.set(f"ALTER SYSTEM SET shared_buffers = '{shared_buffers}'")

    def set(self, statement):
        """ALTER SYSTEM, for the next start."""
        session = Session(self.server, "hybrid")
        session.ask(statement)
        session.psql.stdin.close()
        session.psql.wait()

    def start(self, limit):
        """Start it anew with so many bytes."""
        self.stop()
        os.makedirs(self.group, exist_ok=True)
        with open(f"{self.group}/{self.limit}", "w", encoding="ascii") as file:
            file.write(str(limit))
        self.forget_files()

        def join():
            with open(f"{self.group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        # all that this starts is in the group, too
        subprocess.run(["test/server.sh", "start", self.server], check=True, preexec_fn=join)

    def stop(self):
        """Stop it, and with its last process the group ends."""
        subprocess.run(["test/server.sh", "stop", self.server], check=True)
        if os.path.exists(self.group):
            os.rmdir(self.group)

    def forget_files(self):
        """Take all files of the server out of memory."""
        for folder, _, names in os.walk(f"{self.server}/data/base"):
            for name in names:
                file = os.open(f"{folder}/{name}", os.O_RDONLY)
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)

    def end(self):
        """The server as it was."""
        say("restarting the server without a limit")
        self.stop()
        subprocess.run(["test/server.sh", "start", self.server], check=True)
        self.set("ALTER SYSTEM RESET shared_buffers")
        subprocess.run(["test/server.sh", "restart", self.server], check=True)
