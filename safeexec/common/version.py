"""The version of the package: rooms below the package itself write it down, and compare it with another machine's."""

VERSION = "0.9.0"
