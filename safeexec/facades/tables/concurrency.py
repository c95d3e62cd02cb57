"""Tasks, threads and futures."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import INTERPRETER, NETWORK, PROCESS

TABLES = {
    "asyncio": Table(
        """
            AbstractEventLoop ALL_COMPLETED all_tasks as_completed Barrier BoundedSemaphore BrokenBarrierError
            CancelledError Condition create_eager_task_factory create_task current_task eager_task_factory ensure_future
            Event FIRST_COMPLETED FIRST_EXCEPTION Future gather get_event_loop get_running_loop Handle InvalidStateError
            iscoroutine iscoroutinefunction isfuture LifoQueue Lock PriorityQueue Queue QueueEmpty QueueFull
            QueueShutDown run_coroutine_threadsafe Semaphore set_event_loop shield sleep Task TaskGroup Timeout timeout
            timeout_at TimeoutError TimerHandle to_thread wait wait_for wrap_future
        """,
        replaced="new_event_loop run Runner",
        refuse={
            "AbstractEventLoopPolicy BaseEventLoop DefaultEventLoopPolicy EventLoop get_event_loop_policy "
            "SelectorEventLoop set_event_loop_policy": INTERPRETER,
            "AbstractServer BaseProtocol BaseTransport BufferedProtocol DatagramProtocol DatagramTransport "
            "IncompleteReadError LimitOverrunError open_connection open_unix_connection Protocol ReadTransport "
            "SendfileNotAvailableError Server start_server start_unix_server StreamReader StreamReaderProtocol "
            "StreamWriter Transport WriteTransport": NETWORK,
            "AbstractChildWatcher create_subprocess_exec create_subprocess_shell FastChildWatcher "
            "get_child_watcher MultiLoopChildWatcher PidfdChildWatcher SafeChildWatcher set_child_watcher "
            "SubprocessProtocol SubprocessTransport ThreadedChildWatcher": PROCESS,
        },
        note="loops come from a policy whose loops refuse sockets, programs, signals and descriptors.",
    ),
    "threading": Table(
        """
            active_count Barrier BoundedSemaphore BrokenBarrierError Condition current_thread enumerate Event get_ident
            get_native_id local Lock main_thread RLock Semaphore Thread ThreadError TIMEOUT_MAX Timer
        """,
        replaced="stack_size",
        refuse={
            "excepthook ExceptHookArgs getprofile gettrace setprofile setprofile_all_threads settrace "
            "settrace_all_threads": INTERPRETER
        },
        note="how many threads there may be is counted where they start (`child.process.threads`).",
    ),
    "concurrent": Table(),
    "concurrent.futures": Table(
        """
            ALL_COMPLETED as_completed BrokenExecutor CancelledError Executor FIRST_COMPLETED FIRST_EXCEPTION Future
            InvalidStateError ThreadPoolExecutor TimeoutError wait
        """,
        refuse={"ProcessPoolExecutor": PROCESS},
    ),
}
