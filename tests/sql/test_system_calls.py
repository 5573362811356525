"""The filter for system calls: raw calls from inside a worker, and the programs of both processors by table."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from steelyard.sql.engines.engine import EngineQuery
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.workers import seccomp
from steelyard.sql.workers.processes import Worker

AT_FDCWD = -100
PROBE = textwrap.dedent("""
    import ctypes, json, os, signal, socket, sys
    from steelyard.sql.engines.sqlite_engine import SqliteEngine
    from steelyard.sql.results import ResultTable
    from steelyard.sql.workers import confine, worker

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long

    def argument(value):
        if isinstance(value, str):
            return ctypes.c_char_p(value.encode())
        return ctypes.c_char_p(bytes.fromhex(value["bytes"])) if isinstance(value, dict) else ctypes.c_long(value)

    class Probe(SqliteEngine):
        def execute(self, work):
            if work.query.startswith("raw "):
                rows = []
                for number, arguments in json.loads(work.query[4:]):
                    ctypes.set_errno(0)
                    result = call(ctypes.c_long(number), *map(argument, arguments))
                    rows.append((int(result), ctypes.get_errno() if result == -1 else 0))
                return ResultTable(("result", "errno"), rows)
            if work.query.startswith("python "):
                told = {}
                exec(work.query[7:], told)
                return ResultTable(("told",), [(json.dumps(told["told"]),)])
            return super().execute(work)

    if sys.argv[3] == "unheld":
        confine.hold = lambda *_: None
    worker.run_worker(socket.socket(fileno=int(sys.argv[1])), Probe(), sys.argv[2])
""")

# Of x86-64: what no worker may do, with arguments with which it would do it.
VICTIM, FILE, OTHER = "the victim's id", "a file", "another file"
SIGINFO = {"bytes": struct.pack("=iii", signal.SIGTERM, 0, -1).ljust(128, b"\0").hex()}
LIMIT = {"bytes": struct.pack("=QQ", 5, 5).hex()}
MASK = {"bytes": struct.pack("=Q", 1).hex()}
ZEROS = {"bytes": bytes(256).hex()}
REFUSED = {
    "kill": (62, VICTIM, signal.SIGTERM),
    "kill of its group": (62, 0, signal.SIGCONT),
    "kill of all": (62, -1, 0),
    "tkill": (200, VICTIM, signal.SIGTERM),
    "tgkill": (234, VICTIM, VICTIM, signal.SIGTERM),
    "rt_sigqueueinfo": (129, VICTIM, signal.SIGTERM, SIGINFO),
    "rt_tgsigqueueinfo": (297, VICTIM, VICTIM, signal.SIGTERM, SIGINFO),
    "pidfd_open": (434, VICTIM, 0),
    "pidfd_send_signal": (424, 3, signal.SIGTERM, 0, 0),
    "pidfd_getfd": (438, 3, 0, 0),
    "fcntl F_SETOWN": (72, 3, 8, VICTIM),
    "fcntl F_SETSIG": (72, 3, 10, signal.SIGKILL),
    "ioctl FIOSETOWN": (16, 3, 0x8901, ZEROS),
    "ioctl TIOCSTI": (16, 0, 0x5412, "x"),
    "timer_create": (222, 0, ZEROS, ZEROS),
    "prlimit64 of another": (302, VICTIM, resource.RLIMIT_NOFILE, LIMIT, 0),
    "prlimit64 that reads another's": (302, VICTIM, resource.RLIMIT_NOFILE, 0, ZEROS),
    "prlimit64 of its own memory": (302, 0, resource.RLIMIT_AS, LIMIT, 0),
    "setrlimit": (160, resource.RLIMIT_FSIZE, LIMIT),
    "setpriority": (141, 0, VICTIM, 19),
    "setpriority of its own": (141, 0, 0, 19),
    "ioprio_set": (251, 1, VICTIM, 0x6007),
    "sched_setaffinity": (203, VICTIM, 8, MASK),
    "sched_getaffinity of another": (204, VICTIM, 8, ZEROS),
    "sched_setscheduler": (144, VICTIM, 0, ZEROS),
    "sched_setparam": (142, VICTIM, ZEROS),
    "sched_setattr": (314, VICTIM, ZEROS, 0),
    "setpgid": (109, VICTIM, 0),
    "migrate_pages": (256, VICTIM, 8, MASK, MASK),
    "process_madvise": (440, 3, ZEROS, 1, 4, 0),
    "chmod": (90, FILE, 0o777),
    "fchmod": (91, 3, 0o777),
    "fchmodat": (268, AT_FDCWD, FILE, 0o777),
    "fchmodat2": (452, AT_FDCWD, FILE, 0o777, 0),
    "chown": (92, FILE, 12345, 12345),
    "lchown": (94, FILE, 12345, 12345),
    "fchownat": (260, AT_FDCWD, FILE, 12345, 12345, 0),
    "fchown to another": (93, 3, 12345, 12345),
    "utime": (132, FILE, ZEROS),
    "utimes": (235, FILE, ZEROS),
    "futimesat": (261, AT_FDCWD, FILE, ZEROS),
    "utimensat": (280, AT_FDCWD, FILE, ZEROS, 0),
    "setxattr": (188, FILE, "user.a", "b", 1, 0),
    "lsetxattr": (189, FILE, "user.a", "b", 1, 0),
    "fsetxattr": (190, 3, "user.a", "b", 1, 0),
    "removexattr": (197, FILE, "user.kept"),
    "lremovexattr": (198, FILE, "user.kept"),
    "fremovexattr": (199, 3, "user.kept"),
    "setxattrat": (463, AT_FDCWD, FILE, 0, "user.a", ZEROS, 16),
    "file_setattr": (469, AT_FDCWD, FILE, ZEROS, 24, 0),
    "unlink": (87, FILE),
    "unlinkat": (263, AT_FDCWD, FILE, 0),
    "rename": (82, FILE, OTHER),
    "renameat2": (316, AT_FDCWD, FILE, AT_FDCWD, OTHER, 0),
    "link": (86, FILE, OTHER),
    "linkat": (265, AT_FDCWD, FILE, AT_FDCWD, OTHER, 0),
    "symlink": (88, FILE, OTHER),
    "symlinkat": (266, FILE, AT_FDCWD, OTHER),
    "mkdir": (83, OTHER, 0o777),
    "mknod": (133, OTHER, 0o100666, 0),
    "mknodat": (259, AT_FDCWD, OTHER, 0o100666, 0),
    "truncate": (76, FILE, 0),
    "ftruncate": (77, 3, 0),
    "creat": (85, OTHER, 0o666),
    "open to write": (2, FILE, os.O_WRONLY),
    "openat to make": (257, AT_FDCWD, OTHER, os.O_RDONLY | os.O_CREAT, 0o666),
    "openat without a name": (257, AT_FDCWD, "/tmp", 0o20000000 | os.O_DIRECTORY | os.O_RDWR, 0o600),
    "name_to_handle_at": (303, AT_FDCWD, FILE, ZEROS, ZEROS, 0),
    "open_by_handle_at": (304, AT_FDCWD, ZEROS, 0),
    "chdir": (80, "/tmp"),
    "chroot": (161, "/tmp"),
    "inotify_add_watch": (254, 3, FILE, 0xFFF),
    "fanotify_init": (300, 0, 0),
    "socket": (41, socket.AF_INET, socket.SOCK_STREAM, 0),
    "socket of this machine": (41, socket.AF_UNIX, socket.SOCK_STREAM, 0),
    "socketpair": (53, socket.AF_UNIX, socket.SOCK_STREAM, 0, ZEROS),
    "connect": (42, 3, ZEROS, 16),
    "bind": (49, 3, ZEROS, 16),
    "listen": (50, 3, 1),
    "accept": (43, 3, 0, 0),
    "accept4": (288, 3, 0, 0, 0),
    "sendto an address": (44, 3, "x", 1, 0, ZEROS, 16),
    "sendmsg": (46, 3, ZEROS, 0),
    "sendmmsg": (307, 3, ZEROS, 1, 0),
    "recvmsg": (47, 3, ZEROS, 0),
    "setsockopt": (54, 3, 1, 2, ZEROS, 4),
    "ptrace": (101, 16, VICTIM, 0, 0),
    "process_vm_readv": (310, VICTIM, ZEROS, 1, ZEROS, 1, 0),
    "process_vm_writev": (311, VICTIM, ZEROS, 1, ZEROS, 1, 0),
    "kcmp": (312, VICTIM, VICTIM, 0, 0, 0),
    "io_uring_setup": (425, 1, ZEROS),
    "io_uring_enter": (426, 3, 0, 0, 0, 0, 0),
    "io_uring_register": (427, 3, 0, 0, 0),
    "io_setup": (206, 1, ZEROS),
    "bpf": (321, 0, ZEROS, 72),
    "perf_event_open": (298, ZEROS, 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "memfd_create": (319, "x", 0),
    "memfd_secret": (447, 0),
    "shmget": (29, 0, 4096, 0o1666),
    "msgget": (68, 0, 0o1666),
    "semget": (64, 0, 1, 0o1666),
    "mq_open": (240, "steelyard", os.O_CREAT | os.O_RDWR, 0o600, 0),
    "mount": (165, "none", "/tmp", "tmpfs", 0, 0),
    "umount2": (166, "/tmp", 0),
    "fsopen": (430, "tmpfs", 0),
    "open_tree": (428, AT_FDCWD, "/", 1),
    "unshare": (272, 0x20000),
    "setns": (308, 3, 0),
    "pivot_root": (155, "/", "/"),
    "keyctl": (250, 0, -3, 1),
    "add_key": (248, "user", "steelyard", "x", 1, -3),
    "request_key": (249, "user", "steelyard", 0, 0),
    "execve": (59, "/bin/true", 0, 0),
    "execveat": (322, AT_FDCWD, "/bin/true", 0, 0, 0),
    "fork": (57,),
    "vfork": (58,),
    "clone of a process": (56, signal.SIGCHLD, 0, 0, 0, 0),
    "clone of a thread in another name space": (56, 0x40010D00, 0, 0, 0, 0),
    "setuid": (105, 12345),
    "setresgid": (119, 12345, 12345, 12345),
    "setgroups": (116, 0, 0),
    "capset": (126, ZEROS, ZEROS),
    "personality": (135, 0x0400000),
    "prctl PR_SET_DUMPABLE": (157, 4, 1, 0, 0, 0),
    "prctl PR_SET_PDEATHSIG": (157, 1, 0, 0, 0, 0),
    "prctl PR_SET_SECCOMP": (157, 22, 2, ZEROS, 0, 0),
    "seccomp": (317, 1, 0, ZEROS),
    "mmap of code in memory": (9, 0, 4096, 7, 0x22, -1, 0),
    "mmap of code to write": (9, 0, 4096, 6, 0x02, 3, 0),
    "mprotect of code": (10, 0, 4096, 5),
    "pkey_mprotect": (329, 0, 4096, 7, -1),
    "madvise MADV_HWPOISON": (28, 0, 4096, 100),
    "remap_file_pages": (216, 0, 4096, 0, 0, 0),
    "swapon": (167, FILE, 0),
    "reboot": (169, 0, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "init_module": (175, ZEROS, 0, ""),
    "finit_module": (313, 3, "", 0),
    "sethostname": (170, "x", 1),
    "settimeofday": (164, 0, 0),
    "clock_settime": (227, 0, ZEROS),
    "syslog": (103, 3, ZEROS, 256),
    "quotactl": (179, 0, 0, 0, 0),
    "acct": (163, 0),
    "ioperm": (173, 0, 1, 1),
    "iopl": (172, 3),
    "vhangup": (153,),
    "fcntl F_SETOWN_EX": (72, 3, 15, ZEROS),
    "fcntl F_SETLEASE": (72, 3, 1024, 0),
    "fcntl F_NOTIFY": (72, 3, 1026, 1),
    "ioctl FIOASYNC": (16, 3, 0x5452, ZEROS),
    "ioctl FS_IOC_SETFLAGS": (16, 3, 0x40086602, ZEROS),
    "ioctl FICLONE": (16, 3, 0x40049409, 4),
    "prctl PR_SET_PTRACER": (157, 0x59616D61, VICTIM, 0, 0, 0),
    "prctl PR_CAP_AMBIENT": (157, 47, 2, 0, 0, 0),
    "madvise MADV_SOFT_OFFLINE": (28, 0, 4096, 101),
    "open for neither reading nor writing": (2, FILE, 3),
    "mmap of shared code in memory": (9, 0, 4096, 5, 0x21, -1, 0),
    "clone of a process of another parent": (56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0),
    # The kernel takes the low word of a number, and so must the filter.
    "kill with a high word": (62, 1 << 32 | 1, signal.SIGTERM),
    "openat to write with a high word": (257, AT_FDCWD, FILE, 1 << 32 | os.O_WRONLY),
    "fcntl F_SETOWN with a high word": (72, 3, 1 << 32 | 8, VICTIM),
    "ioctl TIOCSTI with a high word": (16, 0, 1 << 32 | 0x5412, "x"),
    "a number of the table x32": (0x40000000 + 39,),
}
HARMLESS_UNHELD = ("setpriority", "sched_setaffinity", "prlimit64 of another", "chmod", "utimensat", "lchown", "socket")
"""What succeeds where there is no filter, and harms only what was made for it."""


def numbers_of(processor):
    return {name: call.number for name, call in seccomp._system_calls(processor).items()}


on_x86 = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the raw numbers are those of Linux on x86-64"
)


class Held:
    """A worker whose engine makes raw calls and runs Python beside SQL, and what it may want to harm."""

    def __init__(self, folder, sandbox, mode):
        (folder / "in").mkdir()
        self.file, self.other = folder / "in/file", folder / "in/other"
        self.file.write_text("kept", encoding="utf-8")
        self.file.chmod(0o640)
        os.utime(self.file, ns=(10**18, 10**18))
        self.victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-c", PROBE, str(theirs.fileno()), str(folder / "in"), mode]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL)
        theirs.close()
        sandbox.check("sqlite")
        self.worker = Worker(sandbox._pool._templates["sqlite"], 0, ours)
        self.before = self.seen()

    def seen(self):
        """What would be another one if a call had done its work."""
        pid, stat = self.victim.pid, self.file.stat()
        return (
            *(self.victim.poll(), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)),
            *(resource.prlimit(pid, resource.RLIMIT_NOFILE), os.getpgid(pid), os.sched_getscheduler(pid)),
            *(stat.st_mode, stat.st_uid, stat.st_gid, stat.st_mtime_ns, stat.st_nlink, self.file.read_text()),
            *(sorted(os.listxattr(self.file)), self.other.exists(), sorted(self.file.parent.iterdir())),
        )

    def sql(self, query):
        done = self.worker.run(EngineQuery("sqlite", "", "", "", query, SqlLimits()))
        assert done.failure is None, (query, done.failure)
        return done.table.rows

    def raw(self, name):
        number, *arguments = REFUSED[name]
        names = {VICTIM: self.victim.pid, FILE: str(self.file), OTHER: str(self.other)}
        plain = [names.get(one, one) if isinstance(one, str) else one for one in arguments]
        return self.sql(f"raw {json.dumps([[number, plain]])}")[0]

    def python(self, code):
        return json.loads(self.sql(f"python {textwrap.dedent(code)}")[0][0])

    def end(self):
        self.worker.close()
        for process in (self.process, self.victim):
            process.kill()
            process.wait()
        self.victim.stdin.close()


@pytest.fixture(scope="module")
def held(tmp_path_factory, sandbox):
    made = Held(tmp_path_factory.mktemp("held"), sandbox, "held")
    # The filter is there from the first statement on.
    assert made.sql("SELECT 1") == [(1,)]
    if not filtered(made):
        pytest.skip("this kernel takes no filter")
    yield made
    made.end()


def filtered(held):
    return "Seccomp:\t2" in Path(f"/proc/{held.process.pid}/status").read_text(encoding="utf-8")


@on_x86
class TestRawCalls:
    @pytest.mark.parametrize("name", REFUSED)
    def test_a_call_that_no_engine_needs_is_not_permitted_and_the_worker_lives(self, held, name):
        assert held.raw(name) == (-1, errno.EPERM)
        assert held.process.poll() is None
        assert held.seen() == held.before

    def test_a_statement_runs_after_all_of_them(self, held):
        for name in REFUSED:
            held.raw(name)
        query = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 1000) SELECT sum(x) FROM a"
        assert held.sql(query) == [(500500,)]

    def test_the_same_calls_do_their_work_where_there_is_no_filter(self, tmp_path, sandbox):
        free = Held(tmp_path, sandbox, "unheld")
        try:
            if os.geteuid():
                pytest.skip("a file is given away by root alone")
            assert [free.raw(name)[0] >= 0 for name in HARMLESS_UNHELD] == [True] * len(HARMLESS_UNHELD)
            assert free.seen() != free.before
        finally:
            free.end()

    def test_every_number_without_a_name_is_refused_and_none_kills(self, held):
        """All that there are, but for what the filter names: those would end the worker or wait for ever."""
        # uretprobe and uprobe: the kernel asks no filter for them, and ends who calls them from anywhere but a probe.
        named = {335, 336, *numbers_of("x86_64").values()}
        numbers = [number for number in range(seccomp.NEWEST + 1) if number not in named]
        found = held.sql(f"raw {json.dumps([[number, [0, 0, 0, 0, 0, 0]] for number in numbers])}")
        assert {number: one for number, one in zip(numbers, found, strict=True) if one != (-1, errno.EPERM)} == {}

    def test_what_is_newer_than_the_table_is_unknown_as_to_an_older_kernel(self, held):
        found = held.sql(f"raw {json.dumps([[number, [0, 0, 0]] for number in (435, 437, 470, 600, 4000)])}")
        assert found == [(-1, errno.ENOSYS)] * 5

    def test_calls_of_a_32_bit_program_are_refused(self, held):
        """`int 0x80` with the number of getpid there, 20; on x86-64 it is that of writev."""
        if not Path("/usr/bin/gcc").exists():
            pytest.skip("needs a compiler")
        library = held.file.parent / "old.so"
        source = 'long old(long n) { long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(n)); return r; }'
        command = ["/usr/bin/gcc", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
        subprocess.run(command, input=source, text=True, check=True)
        try:
            code = f"import ctypes\ntold = ctypes.CDLL({str(library)!r}).old(20)"
            assert held.python(code) == -errno.EPERM
        finally:
            library.unlink()


@on_x86
class TestWhatEnginesNeed:
    def test_limits_are_read_and_that_of_time_is_set(self, held):
        told = held.python("""
            import resource
            told = [resource.getrlimit(which) for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS)]
            soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
        """)
        assert told[0] == [32, 32]
        assert told[1][0] > 2**26

    def test_a_signal_to_itself_arrives(self, held):
        told = held.python("""
            import os, signal, threading
            told = []
            before = signal.signal(signal.SIGUSR1, lambda number, frame: told.append(number))
            os.kill(os.getpid(), signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            signal.signal(signal.SIGUSR1, before)
        """)
        assert told == [signal.SIGUSR1] * 3

    def test_giving_a_file_to_its_own_user_succeeds_and_changes_nothing(self, held):
        told = held.python(f"""
            import os
            file = os.open({str(held.file)!r}, os.O_RDONLY)
            os.fchown(file, os.geteuid(), os.getegid())
            os.fchown(file, -1, -1)
            os.close(file)
            told = True
        """)
        assert told
        assert held.seen() == held.before

    def test_threads_pipes_waiting_memory_and_late_imports_work(self, held):
        told = held.python("""
            import gc, mmap, os, select, threading, time
            told = []
            threads = [threading.Thread(target=told.append, args=[number]) for number in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            read, write = os.pipe()
            waiting = select.epoll()
            waiting.register(read, select.EPOLLIN)
            os.write(write, b"x")
            told += [len(waiting.poll(1)), len(select.select([read], [], [], 1)[0]), os.read(read, 1).decode()]
            waiting.close()
            [os.close(one) for one in (read, write)]
            time.sleep(0.001)
            with mmap.mmap(-1, 2**20) as memory:
                memory[0] = 1
            bytearray(2**23)
            gc.collect()
            import _lsprof, cmath, unicodedata
            told += [len(os.urandom(4)), len(os.sched_getaffinity(0)) > 0, os.getppid() > 0, os.uname().sysname]
        """)
        assert (sorted(told[:4]), told[4:]) == ([0, 1, 2, 3], [1, 1, "x", 4, True, True, "Linux"])

    @pytest.mark.parametrize("beside", ["-wal", "-journal"])
    def test_a_log_is_folded_into_a_copy_under_the_filter(self, tmp_path, sandbox, beside):
        """As root SQLite gives its log the owner of the database; the copy is made by a worker that is filtered."""
        program = """
            import os, sqlite3, sys
            made = sqlite3.connect(sys.argv[1], isolation_level=None)
            made.execute("PRAGMA journal_mode = " + ("wal" if sys.argv[2] == "-wal" else "delete"))
            made.execute("PRAGMA cache_size = 2")
            made.execute("CREATE TABLE t(a)")
            made.execute("INSERT INTO t VALUES (7)")
            if sys.argv[2] == "-journal":
                made.execute("BEGIN")
                made.execute("UPDATE t SET a = 8")
                made.execute("INSERT INTO t SELECT zeroblob(4000) FROM (VALUES (1),(2),(3),(4),(5),(6),(7),(8))")
            os._exit(0)
        """
        file = tmp_path / "a.db"
        subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(file), beside], check=True)
        assert Path(f"{file}{beside}").stat().st_size
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(7,)]


@on_x86
class TestPreparing:
    def test_a_worker_that_prepares_a_copy_writes_beside_it_alone(self, tmp_path):
        for name in ("own", "other"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "database").write_text("kept", encoding="utf-8")
        program = textwrap.dedent("""
            import json, os, socket, sys
            from steelyard.sql.workers import confine
            folder = sys.argv[1]
            confine.leave_the_parent()
            confine.hold_while_preparing("sqlite", folder + "/own/database", 512)
            wanted = {
                "write it": lambda: open(folder + "/own/database", "a").write("x"),
                "make a log": lambda: open(folder + "/own/database-wal", "w").write("x"),
                "delete the log": lambda: os.unlink(folder + "/own/database-wal"),
                "read another": lambda: open(folder + "/other/database").read(),
                "write another": lambda: open(folder + "/other/database", "a").write("x"),
                "make another": lambda: open(folder + "/other/new", "w"),
                "delete another": lambda: os.unlink(folder + "/other/database"),
                "change modes": lambda: os.chmod(folder + "/own/database", 0o777),
                "connect": lambda: socket.socket(),
                "fork": lambda: os.fork() or os._exit(0),
                "signal": lambda: os.kill(os.getppid(), 0),
            }
            done = []
            for name, act in wanted.items():
                try:
                    act()
                    done.append(name)
                except OSError:
                    pass
            print(json.dumps(done), file=sys.stderr)
        """)
        told = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
        done = set(json.loads(told.stderr))
        assert {"write it", "make a log", "delete the log"} <= done
        assert done.isdisjoint({"change modes", "connect", "fork", "signal"})
        # Where the kernel has Landlock.
        assert done == {"write it", "make a log", "delete the log"} or "read another" in done


def decide(program, number, arguments=(), arch=0xC000003E):
    """What a program of classic BPF answers; the kernel's own machine, as far as the filter uses it."""
    words = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    data = struct.pack("=iIQ6Q", number, arch, 0, *(one & (2**64 - 1) for one in (*arguments, *[0] * 6)[:6]))
    at = held = 0
    while True:
        code, yes, no, value = words[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += yes if holds else no


ALLOWED, REFUSES, UNKNOWN, PRETENDS = 0x7FFF0000, 0x50001, 0x50026, 0x50000


@pytest.mark.parametrize(("processor", "arch"), [("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)])
class TestPrograms:
    def test_arguments_decide(self, processor, arch):
        own, numbers = os.getpid(), numbers_of(processor)
        program = seccomp._program(processor, "query")
        minus_one = 2**64 - 1
        expected = [
            ("kill", (own, 15), ALLOWED),
            ("kill", (own + 1, 15), REFUSES),
            ("kill", (minus_one, 15), REFUSES),
            ("tgkill", (own, own + 3, 6), ALLOWED),
            ("tgkill", (own + 1, own, 6), REFUSES),
            ("prlimit64", (0, 9, 0, 1), ALLOWED),
            ("prlimit64", (own, 9, 0, 1), ALLOWED),
            ("prlimit64", (0, 0, 1, 0), ALLOWED),
            ("prlimit64", (0, 9, 1, 0), REFUSES),
            ("prlimit64", (0, 9, 2**32, 0), REFUSES),
            ("prlimit64", (own + 1, 0, 1, 0), REFUSES),
            ("clone", (0x3D0F00,), ALLOWED),
            ("clone", (0x7D0F00,), ALLOWED),
            ("clone", (17,), REFUSES),
            ("clone", (0x3D0F00 | 0x40000000,), REFUSES),
            ("openat", (0, 0, os.O_CLOEXEC), ALLOWED),
            ("openat", (0, 0, os.O_RDWR), REFUSES),
            ("openat", (0, 0, os.O_CREAT), REFUSES),
            ("mmap", (0, 1, 3, 0x22), ALLOWED),
            ("mmap", (0, 1, 5, 0x02), ALLOWED),
            ("mmap", (0, 1, 5, 0x22), REFUSES),
            ("mmap", (0, 1, 7, 0x02), REFUSES),
            ("mprotect", (0, 1, 3), ALLOWED),
            ("mprotect", (0, 1, 4), REFUSES),
            ("fchown", (3, os.geteuid(), os.getegid()), PRETENDS),
            ("fchown", (3, 2**32 - 1, 2**32 - 1), PRETENDS),
            ("fchown", (3, os.geteuid() + 1, os.getegid()), REFUSES),
            ("fchown", (3, os.geteuid(), os.getegid() + 1), REFUSES),
            ("fcntl", (3, 1030), ALLOWED),
            ("fcntl", (3, 8), REFUSES),
            ("sendto", (3, 1, 1, 0, 0), ALLOWED),
            ("sendto", (3, 1, 1, 0, 2**32), REFUSES),
            ("unlinkat", (), REFUSES),
            ("clone3", (), UNKNOWN),
            ("openat2", (), UNKNOWN),
        ]
        found = [(name, args, decide(program, numbers[name], args, arch)) for name, args, _ in expected]
        assert found == expected

    def test_only_preparing_a_copy_writes_files(self, processor, arch):
        numbers = numbers_of(processor)
        for purpose, wanted in (("query", REFUSES), ("prepare", ALLOWED)):
            program = seccomp._program(processor, purpose)
            written = [("openat", (0, 0, os.O_RDWR)), ("unlinkat", ()), ("ftruncate", ()), ("pwrite64", ())]
            assert {decide(program, numbers[name], args, arch) for name, args in written} == {wanted}

    def test_what_has_no_name_is_refused_and_what_is_newer_unknown(self, processor, arch):
        program, named = seccomp._program(processor, "prepare"), set(numbers_of(processor).values())
        newest = seccomp.NEWEST
        found = {decide(program, number, (), arch) for number in range(newest + 1) if number not in named}
        assert found == {REFUSES}
        assert decide(program, newest + 1, (), arch) == UNKNOWN
        assert decide(program, 0x40000000, (), arch) == REFUSES

    def test_calls_of_another_processor_are_refused(self, processor, arch):
        program = seccomp._program(processor, "query")
        for other in {0x40000003, 0x40000028, 0xC000003E, 0xC00000B7} - {arch}:
            assert {decide(program, number, (), other) for number in range(500)} == {REFUSES}

    def test_jumps_stay_within_what_the_kernel_takes(self, processor, arch):
        program = seccomp._program(processor, "prepare")
        words = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
        assert len(words) < 4096
        assert all(at + 1 + max(yes, no) < len(words) for at, (_, yes, no, _) in enumerate(words[:-1]))
        assert words[-1][0] == 0x06


@pytest.mark.parametrize(
    ("processor", "header"),
    [("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "/usr/include/asm-generic/unistd.h")],
)
def test_the_numbers_are_those_of_the_kernels_headers(processor, header):
    if not Path(header).exists():
        pytest.skip("needs the kernel's headers (linux-libc-dev)")
    text = Path(header).read_text(encoding="utf-8")
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    # The generic table names calls with 64-bit offsets after their 32-bit forms.
    known |= {"newfstatat": known.get("newfstatat", known.get("fstatat"))}
    numbers = numbers_of(processor)
    assert {name: known.get(name) for name in numbers} == dict(numbers)
