"""The functions by which long work reports its progress."""

from collections.abc import Callable

ReportLine = Callable[[str], None]  # a line of text
ReportCount = Callable[[str, int, int], None]  # what is counted, how many are done, of how many
ReportDone = Callable[[int, int], None]  # how many are done, of how many
