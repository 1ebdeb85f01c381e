"""The report of a run: one page to look at, pictures and a table to use elsewhere."""

from instar.app.report.write import Section, write_report

__all__ = ["Section", "write_report"]
