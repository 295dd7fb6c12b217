"""What the command shows of values that are files."""

import needs
import pytest

needs.found("typer")

from tfrecs.cli.preview import value_text  # noqa: E402 - needs typer


@pytest.mark.parametrize(
    ("beginning", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x01\x00\x00WAVEfmt ", "audio/wav"),
        (b"II*\x00", "image/tiff"),
        (b"MM\x00*", "image/tiff"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"ID3", "audio/mpeg"),
        (b"\x00\x00\x00\x18ftypisom", "video/mp4"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"\x93NUMPY\x01\x00", "NumPy array"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"PAR1", "Parquet"),
    ],
)
def test_media_types_are_known_by_their_beginnings(beginning: bytes, kind: str) -> None:
    assert value_text(beginning + bytes(20)) == f"{len(beginning) + 20} bytes: {kind}"
    assert value_text(b"\x01" + beginning + bytes(20)).endswith("…")
