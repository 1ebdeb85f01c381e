"""The report of a run."""

import csv
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from app.runs import configuration
from PIL import Image

import instar

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    config = configuration(title="Argon <& co>")
    return instar.run(config, out=tmp_path_factory.mktemp("report") / "run")


class Page(HTMLParser):
    """Tags that are open, the rows of tables, and what a browser would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.fetched = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not str(value).startswith("#"):
                self.fetched.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.rows[-1].append(data)


def test_the_page_is_whole_and_fetches_nothing(done):
    text = done.directory.report.read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.fetched == []
    assert "url(http" not in text
    assert "Argon &lt;&amp; co&gt;" in text
    assert text.count("<svg") == 8
    assert "currentColor" in text
    assert "#010203" not in text


def test_the_table_says_what_the_summary_says(done):
    page = Page()
    page.feed(done.directory.report.read_text())
    rows = [row for row in page.rows if row]
    assert [row[:3] for row in rows] == [["0", "system-0", "32"], ["1", "system-1", "27"]]
    hot = done.summary["systems"][1]["temperature"]
    mean, error = map(float, re.split(" ± ", rows[1][3]))
    assert mean == pytest.approx(hot["mean"], abs=hot["error"] / 5)
    assert error == pytest.approx(hot["error"], rel=0.1)
    with open(done.path / "report" / "summary.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert float(table[1]["temperature mean (K)"]) == hot["mean"]
    assert [row["name"] for row in table] == ["system-0", "system-1"]


@pytest.mark.parametrize("name", ["pressure", "radial", "structure-1"])
def test_pictures_show_something(done, name):
    with Image.open(done.path / "report" / f"{name}.png") as image:
        values = np.asarray(image.convert("L"))
    assert values[0, 0] == 255
    assert (values < 128).mean() > 0.002
