"""Dates, clocks and calendars."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import FILES, INTERPRETER, PROCESS

TABLES = {
    "datetime": Table("date datetime MAXYEAR MINYEAR time timedelta timezone tzinfo UTC"),
    "time": Table(
        """
            altzone asctime CLOCK_BOOTTIME clock_getres clock_gettime clock_gettime_ns CLOCK_MONOTONIC
            CLOCK_MONOTONIC_RAW CLOCK_PROCESS_CPUTIME_ID CLOCK_REALTIME CLOCK_TAI CLOCK_THREAD_CPUTIME_ID ctime daylight
            get_clock_info gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time
            process_time_ns sleep strftime strptime struct_time thread_time thread_time_ns time time_ns timezone tzname
        """,
        refuse={"clock_settime clock_settime_ns tzset": INTERPRETER, "pthread_getcpuclockid": PROCESS},
    ),
    "calendar": Table(
        """
            APRIL AUGUST Calendar calendar Day day_abbr day_name DECEMBER FEBRUARY firstweekday FRIDAY HTMLCalendar
            IllegalMonthError IllegalWeekdayError isleap JANUARY JULY JUNE leapdays MARCH MAY MONDAY Month month
            month_abbr month_name monthcalendar monthrange NOVEMBER OCTOBER prcal prmonth SATURDAY SEPTEMBER
            setfirstweekday SUNDAY TextCalendar THURSDAY timegm TUESDAY WEDNESDAY weekday weekheader
        """,
        refuse={"different_locale LocaleHTMLCalendar LocaleTextCalendar": INTERPRETER},
    ),
    "zoneinfo": Table(
        "available_timezones InvalidTZPathWarning ZoneInfo ZoneInfoNotFoundError", refuse={"reset_tzpath TZPATH": FILES}
    ),
    "timeit": Table(
        "default_timer repeat timeit Timer", note="it runs as guest code does: text is compiled under the same rules."
    ),
}
