"""Event loops that run tasks and timers and nothing else.

Every task and future leads to its loop, so the loop itself must be harmless: its methods for sockets, programs, signals
and descriptors raise.
"""

from __future__ import annotations

import asyncio
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Callable
from socket import socket
from typing import Any, NoReturn

from safeexec.facades.layout import write_to_class
from safeexec.facades.replacements.checked import Lazy

# With what the methods of the base classes end in: a transport is made of any objects, and its class leads to modules.
_NETWORK = """
    connect_accepted_socket connect_read_pipe connect_write_pipe create_connection create_datagram_endpoint
    create_server create_unix_connection create_unix_server getaddrinfo getnameinfo sendfile sock_accept sock_connect
    sock_recv sock_recv_into sock_recvfrom sock_recvfrom_into sock_sendall sock_sendfile sock_sendto start_tls
    _make_datagram_transport _make_socket_transport _make_ssl_transport
    _accept_connection _accept_connection2 _connect_sock _create_connection_transport _create_server_getaddrinfo
    _ensure_resolved _getaddrinfo_debug _sendfile_fallback _sendfile_native _sock_accept
    _sock_add_cancellation_callback _sock_connect _sock_connect_cb _sock_read_done _sock_recv _sock_recv_into
    _sock_recvfrom _sock_recvfrom_into _sock_sendall _sock_sendfile_fallback _sock_sendfile_native
    _sock_sendfile_native_impl _sock_sendfile_update_filepos _sock_sendto _sock_write_done _start_serving _stop_serving
"""
_PROCESS = (
    "subprocess_exec subprocess_shell add_signal_handler remove_signal_handler add_reader add_writer remove_reader "
    "remove_writer _add_writer _remove_writer _child_watcher_callback _handle_signal _log_subprocess "
    # what the methods of the base classes end in
    "_make_subprocess_transport _make_read_pipe_transport _make_write_pipe_transport"
)


def _refuser(name: str, what: str) -> Any:
    def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise PermissionError(f"{name}() of the event loop is refused: it {what}")

    refuse.__name__ = name
    return refuse


class GuestLoop(asyncio.SelectorEventLoop):
    """The event loop of guest code: tasks, futures, timers and threads."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("cannot copy or pickle an event loop")


_CLOSED = {
    name: _refuser(name, what)
    for names, what in ((_NETWORK, "uses the network"), (_PROCESS, "reaches processes, signals or descriptors"))
    for name in names.split()
}
for _name, _refuse in _CLOSED.items():
    setattr(GuestLoop, _name, _refuse)


def close_bases() -> None:
    """Refuse the same in the classes that `GuestLoop` is made of: its `__mro__` leads to them. In a child only."""
    for base in GuestLoop.__mro__[1:]:
        for name in _CLOSED.keys() & vars(base).keys():
            write_to_class(base, name, _CLOSED[name])
        if base is not object:
            write_to_class(base, "__reduce_ex__", vars(GuestLoop)["__reduce_ex__"])
    for name in ("__init__", "_make_self_pipe"):
        write_to_class(BaseSelectorEventLoop, name, _of_guest_loops(vars(BaseSelectorEventLoop)[name]))
    write_to_class(BaseSelectorEventLoop, "_add_reader", _of_own_socket(vars(BaseSelectorEventLoop)["_add_reader"]))


def _of_guest_loops(real: Callable[..., None]) -> Callable[..., None]:
    """A method that stores a selector or sockets in `self`: an object of another class may give them away."""

    def store(self: object, *args: Any) -> None:
        if type(self) is not GuestLoop:
            raise TypeError("an event loop is made by asyncio.new_event_loop(), and has no classes of its own")
        real(self, *args)

    store.__name__ = store.__qualname__ = real.__name__
    return store


def _of_own_socket(real: Callable[..., Any]) -> Callable[..., Any]:
    """`_add_reader` for the socket that wakes the loop: any other number is that of a descriptor of the process."""

    def _add_reader(self: Any, fd: object, callback: object, *args: object) -> Any:
        own = self._ssock
        if type(self) is not GuestLoop or type(own) is not socket or fd != socket.fileno(own):
            _CLOSED["add_reader"](self)
        return real(self, socket.fileno(own), callback, *args)

    return _add_reader


class GuestLoopPolicy(asyncio.DefaultEventLoopPolicy):
    """Makes `GuestLoop` what `asyncio.run` and the others create in this process."""

    _loop_factory = GuestLoop


class GuestRunner(asyncio.Runner):  # type: ignore[misc]  # final for type checkers
    """`asyncio.Runner` that makes a `GuestLoop` unless it is given a factory."""

    def __init__(self, *, debug: bool | None = None, loop_factory: Callable[[], Any] | None = None) -> None:
        super().__init__(debug=debug, loop_factory=loop_factory or GuestLoop)


def _with_policy(value: Any) -> Lazy:
    """Install the policy when the first facade of asyncio is built, not when this file is imported."""

    def give() -> Any:
        if type(asyncio.get_event_loop_policy()) is not GuestLoopPolicy:
            asyncio.set_event_loop_policy(GuestLoopPolicy())
        return value

    return Lazy(give)


REPLACEMENTS: dict[str, Any] = {
    "asyncio.run": _with_policy(asyncio.run),
    "asyncio.new_event_loop": _with_policy(asyncio.new_event_loop),
    "asyncio.Runner": _with_policy(GuestRunner),
}
