"""Small libraries that programs of data analysis bring along."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, FILES, INTERNAL, MACHINE, PROCESS

TABLES = {
    "dateutil": Table(),
    "dateutil.parser": Table(
        "isoparse isoparser parse parser ParserError parserinfo UnknownTimezoneWarning",
        internal="DEFAULTPARSER DEFAULTTZPARSER",
    ),
    "dateutil.relativedelta": Table(
        "FR MO relativedelta SA SU TH TU WE weekday weekdays",
        internal="copysign integer_types unicode_literals warn",
    ),
    "dateutil.rrule": Table(
        "DAILY FR HOURLY MINUTELY MO MONTHLY rrule rruleset rrulestr SA SECONDLY SU TH TU WE WEEKLY YEARLY",
        internal="""
            advance_iterator easter FREQNAMES gcd integer_types M365MASK M365RANGE M366MASK M366RANGE MDAY365MASK
            MDAY366MASK NMDAY365MASK NMDAY366MASK parser range rrulebase unicode_literals warn WDAYMASK weekday
            weekdaybase weekdays wraps
        """,
    ),
    "dateutil.tz": Table(
        """
            available_iana_timezones datetime_ambiguous datetime_exists DeprecatedTzFormatWarning
            DeprecatedTzKeyWarning enfold gettz resolve_imaginary tzlocal tzoffset tzrange tzstr tzutc UTC
        """,
        files="tzfile tzical",
        refuse={
            "reset_tzpath TZPATH": FILES,
            "tzwin tzwinlocal": MACHINE,
        },
        internal="""
            EPOCH EPOCHORDINAL OrderedDict string_types TZFILES tzname_in_python2 TZPATHS tzrangebase unicode_literals
            warn ZERO
        """,
        note="gettz takes a path too; what is not a time zone file fails to parse.",
    ),
    "dateutil.easter": Table(
        "easter EASTER_JULIAN EASTER_ORTHODOX EASTER_WESTERN",
    ),
    "dateutil.utils": Table(
        "default_tzinfo today within_delta",
        internal="datetime time unicode_literals",
    ),
    "tqdm": Table(
        """
            TqdmDeprecationWarning TqdmExperimentalWarning TqdmKeyError TqdmMonitorWarning TqdmSynchronisationWarning
            TqdmTypeError TqdmWarning
        """,
        replaced="tqdm trange",
        refuse={
            "tgrange tnrange tqdm_gui tqdm_notebook tqdm_pandas": DISPLAY,
            "main TMonitor": PROCESS,
        },
        note="the monitor thread is switched off: a state with threads cannot be checkpointed.",
    ),
    "tqdm.auto": Table(
        replaced="tqdm trange",
        internal="asyncio_tqdm notebook_tqdm std_tqdm TqdmExperimentalWarning",
    ),
    "tqdm.notebook": Table(
        replaced="tqdm trange",
        refuse={"tqdm_notebook tnrange TqdmHBox": DISPLAY},
        internal="escape proxy re std_tqdm sys warnings IProgress HBox HTML IPY ipywidgets display VBox WARN_NOIPYW",
        note="bars like those of tqdm: nothing here draws widgets.",
    ),
    "tqdm.std": Table(
        replaced="tqdm trange",
        refuse={
            "TqdmDeprecationWarning TqdmExperimentalWarning TqdmKeyError TqdmMonitorWarning TqdmTypeError "
            "TqdmWarning": INTERNAL,
        },
        internal="""
            Bar CallbackIOWrapper Comparable contextmanager datetime defaultdict DisableOnWriteError disp_len
            disp_trim EMA envwrap FormatReplace Number OrderedDict SimpleTextIOWrapper time timedelta timezone
            TMonitor TqdmDefaultWriteLock TRLock warn WeakSet
        """,
    ),
    "tabulate": Table(
        "simple_separated_format tabulate tabulate_formats",
    ),
    "pytz": Table(
        """
            all_timezones all_timezones_set AmbiguousTimeError common_timezones common_timezones_set country_names
            country_timezones FixedOffset InvalidTimeError NonExistentTimeError timezone UnknownTimeZoneError UTC utc
        """,
        refuse={
            "open_resource resource_exists": FILES,
        },
    ),
}
