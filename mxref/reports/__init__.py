"""Reports as pages and pictures: HTML, SVG and PNG, JUnit, GitHub annotations, a badge.

Pages and pictures need the extra ``report`` (jinja2 and matplotlib), which is imported where it is
first used; a page needs no network and no script.
"""
