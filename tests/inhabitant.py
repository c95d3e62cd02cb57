"""Another inhabitant of the machine, for escape tests: it owns a secret and offers it in every way that a process can.

Run as a program: argv[1] is the path of the canary file; the secret is in SAFEEXEC_TEST_SECRET. It prints its port.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading

_MQ_OPEN = {"x86_64": 240, "aarch64": 180}.get(os.uname().machine, -1)
_MQ_UNLINK = _MQ_OPEN + 1


def main(canary: str, secret: str) -> None:
    """Offer the secret over TCP, UDP, unix and abstract sockets, shared memory and queues of both kinds; then wait."""
    reply = f"{secret}\n".encode()
    tcp, udp, port = _same_port()
    named, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    named.bind(f"{canary}.sock")
    os.chmod(f"{canary}.sock", 0o777)
    abstract.bind(f"\0safeexec-{port}")
    for listener, speaks_http in ((tcp, True), (named, False), (abstract, False)):
        listener.listen(16)
        threading.Thread(target=_serve, args=(listener, reply, speaks_http), daemon=True).start()
    threading.Thread(target=_answer, args=(udp, reply, f"{canary}.beacon"), daemon=True).start()
    _share(port, reply)
    print(port, flush=True)
    signal.pause()


def remove_shared(port: int) -> None:
    """Remove what outlives the process: the shared memory and the queues."""
    libc = ctypes.CDLL(None)
    libc.shmctl(libc.shmget(port, 0, 0), 0, None)
    libc.msgctl(libc.msgget(port, 0), 0, None)
    libc.syscall(_MQ_UNLINK, f"safeexec-{port}".encode())
    try:
        os.unlink(f"/dev/shm/safeexec-{port}")
    except OSError:
        pass


def _same_port() -> tuple[socket.socket, socket.socket, int]:
    while True:
        tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        try:
            udp.bind(("127.0.0.1", port))
        except OSError:
            continue
        return tcp, udp, port


def _serve(listener: socket.socket, reply: bytes, speaks_http: bool) -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(reply)
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                if speaks_http:
                    connection.settimeout(1)
                    connection.recv(1000)
                connection.sendall((head if speaks_http else b"") + reply)
            except OSError:
                continue


def _answer(udp: socket.socket, reply: bytes, beacon: str) -> None:
    while True:
        data, sender = udp.recvfrom(2000)
        if data == b"late-beacon":
            open(beacon, "w").close()
        udp.sendto(reply, sender)


def _share(port: int, reply: bytes) -> None:
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(port, 4096, 0o1666)
    if segment >= 0:
        ctypes.memmove(libc.shmat(segment, None, 0), reply, len(reply))
    libc.msgget(port, 0o1666)
    libc.syscall(_MQ_OPEN, f"safeexec-{port}".encode(), os.O_CREAT | os.O_RDWR, 0o666, 0)
    try:
        with open(f"/dev/shm/safeexec-{port}", "wb") as file:
            file.write(reply)
    except OSError:
        pass


if __name__ == "__main__":
    main(sys.argv[1], os.environ["SAFEEXEC_TEST_SECRET"])
