"""The interpreter as guest code may see it: sys, warnings, tracebacks, logs, command lines."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, FILES, FRAMES, IMPORTS, INTERPRETER, MACHINE

TABLES = {
    "sys": Table(
        """
            api_version builtin_module_names byteorder copyright exc_info exception exit flags float_info
            float_repr_style get_int_max_str_digits getallocatedblocks getdefaultencoding getfilesystemencodeerrors
            getfilesystemencoding getrecursionlimit getrefcount getsizeof getswitchinterval getunicodeinternedsize
            hash_info hexversion int_info intern is_finalizing maxsize maxunicode platform set_int_max_str_digits
            stdlib_module_names thread_info version version_info
        """,
        replaced="""
            argv executable implementation modules path setrecursionlimit stderr stdout warnoptions __stderr__
            __stdout__
        """,
        refuse={
            "stdin": DISPLAY,
            "meta_path path_hooks path_importer_cache": IMPORTS,
            "activate_stack_trampoline addaudithook audit breakpointhook call_tracing "
            "deactivate_stack_trampoline displayhook dont_write_bytecode excepthook get_asyncgen_hooks "
            "get_coroutine_origin_tracking_depth getdlopenflags getprofile gettrace is_stack_trampoline_active "
            "last_exc last_traceback last_type last_value monitoring ps1 ps2 pycache_prefix set_asyncgen_hooks "
            "set_coroutine_origin_tracking_depth setdlopenflags setprofile setswitchinterval settrace "
            "tracebacklimit unraisablehook": INTERPRETER,
            "abiflags base_exec_prefix base_prefix exec_prefix orig_argv platlibdir prefix": MACHINE,
        },
    ),
    "gc": Table(
        "collect disable enable get_count get_threshold is_tracked isenabled set_threshold",
        refuse={
            "callbacks garbage get_objects get_referents get_referrers is_finalized": FRAMES,
            "DEBUG_COLLECTABLE DEBUG_LEAK DEBUG_SAVEALL DEBUG_STATS DEBUG_UNCOLLECTABLE freeze get_debug "
            "get_freeze_count get_stats set_debug unfreeze": INTERPRETER,
        },
        note="when the collector of the guest's own process runs, and nothing of what it knows.",
    ),
    "warnings": Table(
        "deprecated filterwarnings resetwarnings simplefilter warn",
        replaced="catch_warnings",
        refuse={"formatwarning showwarning warn_explicit": FILES, "filters": INTERPRETER},
        note=(
            "formatting a warning reads the line of the file it names. catch_warnings keeps the real module as an "
            "attribute."
        ),
    ),
    "traceback": Table(
        replaced="""
            extract_tb format_exc format_exception format_exception_only format_list format_tb FrameSummary print_exc
            print_exception print_tb
        """,
        refuse={
            "clear_frames extract_stack format_stack print_last print_stack StackSummary TracebackException "
            "walk_stack walk_tb": FRAMES
        },
        note="text only, and only the frames of guest code.",
    ),
    "logging": Table(
        replaced="""
            addLevelName BASIC_FORMAT basicConfig BufferingFormatter CRITICAL critical DEBUG debug disable ERROR error
            exception FATAL fatal FileHandler Filter Formatter getHandlerByName getHandlerNames getLevelName
            getLevelNamesMapping getLogger getLoggerClass getLogRecordFactory Handler INFO info lastResort log Logger
            LoggerAdapter LogRecord makeLogRecord NOTSET NullHandler root setLoggerClass setLogRecordFactory shutdown
            StreamHandler WARN warn WARNING warning
        """,
        files="FileHandler",
        refuse={"captureWarnings raiseExceptions": INTERPRETER},
        note=("a logging module of its own: its loggers are not those of the libraries, style { walks no attributes."),
    ),
    "argparse": Table(
        """
            Action ArgumentDefaultsHelpFormatter ArgumentError ArgumentParser ArgumentTypeError BooleanOptionalAction
            HelpFormatter MetavarTypeHelpFormatter Namespace ONE_OR_MORE OPTIONAL PARSER RawDescriptionHelpFormatter
            RawTextHelpFormatter REMAINDER SUPPRESS ZERO_OR_MORE
        """,
        files="FileType",
        note="an action reads and sets attributes by name of any object: child.language.libraries.reads checks each.",
    ),
    "errno": Table(
        """
            E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG EBADR
            EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK
            EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EIDRM EILSEQ
            EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC
            EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE
            EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV
            ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR
            ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO
            EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG
            EREMOTE EREMOTEIO ERESTART ERFKILL EROFS errorcode ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE
            ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL
        """
    ),
    "http": Table("HTTPMethod HTTPStatus"),
    "locale": Table(
        """
            ABDAY_1 ABDAY_2 ABDAY_3 ABDAY_4 ABDAY_5 ABDAY_6 ABDAY_7 ABMON_1 ABMON_10 ABMON_11 ABMON_12 ABMON_2 ABMON_3
            ABMON_4 ABMON_5 ABMON_6 ABMON_7 ABMON_8 ABMON_9 ALT_DIGITS AM_STR atof atoi CHAR_MAX CODESET CRNCYSTR
            currency D_FMT D_T_FMT DAY_1 DAY_2 DAY_3 DAY_4 DAY_5 DAY_6 DAY_7 delocalize ERA ERA_D_FMT ERA_D_T_FMT
            ERA_T_FMT Error format_string getlocale LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC
            LC_TIME localeconv localize MON_1 MON_10 MON_11 MON_12 MON_2 MON_3 MON_4 MON_5 MON_6 MON_7 MON_8 MON_9
            nl_langinfo NOEXPR normalize PM_STR RADIXCHAR str strcoll strxfrm T_FMT T_FMT_AMPM THOUSEP YESEXPR
        """,
        replaced="getencoding getpreferredencoding setlocale",
        refuse={
            "bind_textdomain_codeset bindtextdomain dcgettext dgettext format getdefaultlocale gettext resetlocale "
            "textdomain": INTERPRETER
        },
        note="the locale is C, as a process has it that was told of no other: setlocale knows no second one.",
    ),
    "mimetypes": Table(
        "add_type guess_all_extensions guess_extension guess_file_type guess_type",
        refuse={
            "init knownfiles MimeTypes read_mime_types": FILES,
            "common_types encodings_map inited suffix_map types_map": INTERPRETER,
        },
        note="Python's own table: the files of the machine that could add to it are not read.",
    ),
    "platform": Table(
        """
            python_branch python_build python_compiler python_implementation python_revision python_version
            python_version_tuple
        """,
        replaced="system",
        refuse={
            "android_ver AndroidVer architecture freedesktop_os_release invalidate_caches ios_ver IOSVersionInfo "
            "java_ver libc_ver mac_ver machine node platform processor release system_alias uname uname_result version "
            "win32_edition win32_is_iot win32_ver": MACHINE
        },
        note="the Python, and the name of its system, which sys.platform says as well.",
    ),
}
