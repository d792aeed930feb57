"""The functions by which long work reports its progress."""

from collections.abc import Callable

ReportLine = Callable[[str], None]  # a line of text
ReportCount = Callable[[str, int, int], None]  # the step, the number done, the total
ReportDone = Callable[[int, int], None]  # the number done, the total
