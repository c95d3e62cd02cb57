"""safeexec beside other ways to run Python that somebody else wrote: contenders, rows, and a report of both."""
