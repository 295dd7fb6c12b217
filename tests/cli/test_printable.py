"""Every character that shows as nothing, or as a blank that is no space, is printed escaped."""

import sys
import unicodedata

import pytest

from tfrecs.cli.preview import bytes_text
from tfrecs.cli.terminal import is_printable, printable

# Default_Ignorable_Code_Point of Unicode 16: first and last of each range.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip

# Symbols without ink: Braille without dots, the Khitan filler, and a notehead that is not there.
EMPTY = {0x2800, 0x16FE4, 0x1D159}


def is_blank(code: int) -> bool:
    """Whether a code point other than the space shows as nothing."""
    is_ignorable = any(first <= code <= last for first, last in IGNORABLE)
    # Z: separators; C: controls, formats, surrogates, private use, unassigned.
    is_other = unicodedata.category(chr(code))[0] in "ZC" and code != 0x20
    return is_ignorable or is_other or code in EMPTY


def test_exactly_what_shows_is_printable() -> None:
    wrong = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if is_printable(chr(code)) == is_blank(code)
    ]
    assert wrong == []


def test_what_unicode_names_fillers_and_blanks_is_covered() -> None:
    named = {
        code
        for code in range(sys.maxunicode + 1)
        if {"FILLER", "BLANK"} & set(unicodedata.name(chr(code), "").split())
    }
    # Characters named so that do show: the symbol for blank, and punctuation that fills lines.
    shown = {0x2422, 0xA8F9, 0x10AF6, 0x1144E, 0x11945}
    assert {hex(code) for code in named - shown if is_printable(chr(code))} == set()


@pytest.mark.parametrize("char", ["\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\u034f"])
def test_a_blank_character_is_escaped(char: str) -> None:
    escaped = f"\\u{ord(char):04x}"
    assert printable(f"a{char}b") == f"a{escaped}b"
    assert char not in bytes_text(f"a{char}b".encode())
