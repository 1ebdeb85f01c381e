"""Amounts of memory are read as people write them and shown to three digits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import raises

from instar.memory.amounts import parse_amount, show


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("8 GiB", 8 * 2**30),
        ("512MiB", 512 * 2**20),
        ("  3  kib ", 3 * 2**10),
        ("1.5 GB", 1_500_000_000),
        ("2.3 GB", 2_300_000_000),
        ("200 kB", 200_000),
        ("200 KB", 200_000),
        (".5 TiB", 2**39),
        ("1 PB", 10**15),
        ("640 B", 640),
        ("1000000", 1_000_000),
        ("1e9", 10**9),
        (1000, 1000),
        (2**70, 2**70),
        (1.5e9, 1_500_000_000),
    ],
)
def test_amounts_are_read_in_bytes(text, amount):
    assert parse_amount(text) == amount


@pytest.mark.parametrize(
    "text", ["", "GiB", "many", "1,5 GB", "1.2.3 GB", "nan", "8 GiB/s", "8 GiB 2", "٨ GB"]
)
def test_what_is_no_amount_is_refused(text):
    with raises(ValueError, f"{text!r} is not an amount of memory."):
        parse_amount(text)


@pytest.mark.parametrize("unit", ["G", "GBit", "e", "bytes"])
def test_an_unknown_unit_is_named(unit):
    with raises(ValueError, f"{unit!r} in '8 {unit}' is not a unit of memory."):
        parse_amount(f"8 {unit}")


@pytest.mark.parametrize("text", [0, -5, 0.6, -1.0, "0", "0 GiB", "-8 GiB"])
def test_less_than_a_byte_is_refused(text):
    with raises(ValueError, f"An amount of memory is at least one byte, not {text!r}."):
        parse_amount(text)


@pytest.mark.parametrize("text", [math.nan, math.inf, -math.inf, True, "1e400 B"])
def test_what_is_not_finite_is_refused(text):
    with raises(ValueError, f"An amount of memory is a finite number, not {text!r}."):
        parse_amount(text)


def test_an_error_shows_how_to_write_an_amount():
    with pytest.raises(ValueError, match=r'\nWrite it like "8 GiB", "512 MiB", "1\.5 GB"'):
        parse_amount("much")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (640, "640 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (3 * 2**29, "1.50 GiB"),
        (int(12.34 * 2**20), "12.3 MiB"),
        (int(9.999 * 2**20), "10.0 MiB"),
        (int(99.97 * 2**20), "100 MiB"),
        (999 * 2**20, "999 MiB"),
        (int(999.7 * 2**20), "1000 MiB"),
        (1010 * 2**20, "1010 MiB"),
        (2**30 - 1, "1.00 GiB"),
        (5000 * 2**50, "5000 PiB"),
        (-(2**30), "-1.00 GiB"),
        (1.5 * 2**10, "1.50 KiB"),
    ],
)
def test_amounts_are_shown_to_three_digits(amount, text):
    assert show(amount) == text


@given(st.integers(1, 2**59))
def test_what_is_shown_is_read_again_to_three_digits(amount):
    assert parse_amount(show(amount)) == pytest.approx(amount, rel=0.005)
