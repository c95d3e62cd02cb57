"""Small libraries that programs of data analysis bring along."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, FILES, INTERNAL, MACHINE, PROCESS

TABLES = {
    "dateutil": Table(),
    "dateutil.parser": Table("isoparse isoparser parse parser ParserError parserinfo UnknownTimezoneWarning"),
    "dateutil.relativedelta": Table("FR MO relativedelta SA SU TH TU WE weekday weekdays"),
    "dateutil.rrule": Table(
        "DAILY FR HOURLY MINUTELY MO MONTHLY rrule rruleset rrulestr SA SECONDLY SU TH TU WE WEEKLY YEARLY"
    ),
    "dateutil.tz": Table(
        """
            available_iana_timezones datetime_ambiguous datetime_exists DeprecatedTzFormatWarning DeprecatedTzKeyWarning
            enfold gettz resolve_imaginary tzlocal tzoffset tzrange tzstr tzutc UTC
        """,
        files="tzfile tzical",
        refuse={"reset_tzpath TZPATH": FILES, "tzwin tzwinlocal": MACHINE},
        note="gettz takes a path too; what is not a time zone file fails to parse.",
    ),
    "dateutil.easter": Table("easter EASTER_JULIAN EASTER_ORTHODOX EASTER_WESTERN"),
    "dateutil.utils": Table("default_tzinfo today within_delta", internal="unicode_literals"),
    "tqdm": Table(
        """
            TqdmDeprecationWarning TqdmExperimentalWarning TqdmKeyError TqdmMonitorWarning TqdmSynchronisationWarning
            TqdmTypeError TqdmWarning
        """,
        replaced="tqdm trange",
        refuse={"tgrange tnrange tqdm_gui tqdm_notebook tqdm_pandas": DISPLAY, "main TMonitor": PROCESS},
        note="the monitor thread is switched off: a state with threads cannot be checkpointed.",
    ),
    "tqdm.auto": Table(replaced="tqdm trange"),
    "tqdm.notebook": Table(
        replaced="tqdm trange",
        refuse={"tqdm_notebook tnrange TqdmHBox": DISPLAY},
        note="bars like those of tqdm: nothing here draws widgets.",
    ),
    "tqdm.std": Table(
        replaced="tqdm trange",
        refuse={
            "TqdmDeprecationWarning TqdmExperimentalWarning TqdmKeyError TqdmMonitorWarning TqdmTypeError "
            "TqdmWarning": INTERNAL
        },
    ),
    "tabulate": Table("simple_separated_format tabulate tabulate_formats"),
    "pytz": Table(
        """
            all_timezones all_timezones_set AmbiguousTimeError BaseTzInfo common_timezones common_timezones_set
            country_names country_timezones FixedOffset InvalidTimeError NonExistentTimeError timezone
            UnknownTimeZoneError UTC utc
        """,
        refuse={"open_resource resource_exists": FILES},
    ),
}
