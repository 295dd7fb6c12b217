"""Encoded sound in bytes features: WAV and FLAC, to arrays."""

from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.checks import checked_limit, checked_threads
from tfrecs.errors import Error, MissingLibraryError, SpecError
from tfrecs.media.batches import (
    Contents,
    DecodedBatch,
    MediaSource,
    OnError,
    batch,
    broken,
    checked_choice,
    checked_dtype,
    decode_many,
    decode_one,
    single,
)
from tfrecs.media.waiting import call_interruptibly

try:
    import soundfile
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'audio needs soundfile: pip install "tfrecs[audio]"', name=error.name
    ) from error

MAX_SAMPLES = 1 << 28

_DTYPES = ("float32", "float64", "int16", "int32")
_BLOCK = 1 << 16  # samples read at a time: a header may announce more than there are
_SHORT_BYTES = 1 << 14  # less than this is decoded at once: Ctrl-C waits for it
_UNKNOWN_LENGTH = 0xFFFFFFFF  # in the header of a WAV file that was written to a pipe


class Audio(NamedTuple):
    """Decoded sound, as `tf.audio.decode_wav` gives it.

    Attributes:
        samples: The amplitudes: shape (frames, channels); of a batch that is one array, (batch,
            frames, channels).
        sample_rate: Frames a second, an int; of a batch that is one array, int32, shape (batch,).

    Example:
        >>> import io, numpy as np, soundfile, tfrecs
        >>> file = io.BytesIO()
        >>> soundfile.write(file, np.zeros((4, 1)), 16000, format="WAV")
        >>> samples, sample_rate = tfrecs.decode_audio(file.getvalue())
        >>> samples.shape, sample_rate
        ((4, 1), 16000)
    """

    samples: npt.NDArray[Any]
    sample_rate: Any


def decode_audio(
    contents: Contents,
    dtype: npt.DTypeLike = "float32",
    desired_channels: int = -1,
    desired_samples: int = -1,
    *,
    max_samples: int = MAX_SAMPLES,
    on_error: OnError = "raise",
    num_threads: int | None = None,
    feature: str | None = None,
    records: _core.Records | None = None,
    example_names: Sequence[str] | None = None,
) -> Any:
    """Decode WAV and FLAC files, one or a whole batch, to arrays of samples.

    As `tf.audio.decode_wav`, whose results it gives for 16-bit WAV; beyond it, WAV of any other
    depth, and FLAC.

    Args:
        contents: The bytes of a file; or a batch: a BytesArray, Records, a list, or a 1-D NumPy
            array of objects.
        dtype: float32 or float64, which have -1 to 1 (1 itself excluded, if the file has integers);
            int16 or int32, which have the whole range.
        desired_channels: How many channels to give: those that are too many are left out, and the
            last is repeated for those that are too few. -1: as many as there are.
        desired_samples: How many frames to give: cut, or filled with zeros at the end. -1: as many
            as there are.
        max_samples: A file with more samples, all channels together, is refused before memory is
            taken for them.
        on_error: What a broken file does to a batch: "raise" raises, "skip" leaves it out.
        num_threads: How many threads decode a batch (at most 1,024); None is one for each core.
        feature: The name of the feature that the bytes are from, for the texts of errors.
        records: The records that a batch was parsed from, for the texts of errors, as in
            `decode_image`.
        example_names: A name for each value of a batch, for the texts of errors.

    Returns:
        For one file an Audio, samples of shape (frames, channels). For a batch a list of them; with
        both `desired_channels` and `desired_samples`, one Audio of arrays. With `on_error="skip"`,
        a DecodedBatch of the one or the other.

    Raises:
        ParseError: A file is broken, cut off, too long, or neither WAV nor FLAC.
        SpecError: An option makes no sense.
        TypeError: `contents` is no bytes.

    Example:
        >>> import io, numpy as np, soundfile, tfrecs
        >>> file = io.BytesIO()
        >>> soundfile.write(file, np.array([0.5, -1.0]), 8000, format="FLAC")
        >>> files = [file.getvalue()] * 3
        >>> audio = tfrecs.decode_audio(files, desired_channels=1, desired_samples=4)
        >>> audio.samples.shape, audio.samples[0, :, 0].tolist(), audio.sample_rate.tolist()
        ((3, 4, 1), [0.5, -1.0, 0.0, 0.0], [8000, 8000, 8000])
    """
    checked_choice("on_error", on_error, ("raise", "skip"))
    checked_threads(num_threads)
    channels = _checked_desired("desired_channels", desired_channels, least=1)
    frames = _checked_desired("desired_samples", desired_samples, least=0)
    name = checked_dtype(dtype, _DTYPES)
    limit = checked_limit("max_samples", max_samples)
    source = MediaSource(feature, records, example_names)

    def decode(data: bytes) -> Audio:
        read = partial(_read, data, name, limit)
        audio = read() if len(data) <= _SHORT_BYTES else call_interruptibly(read)
        return _fitted(audio, channels, frames)

    if (data := single(contents)) is not None:
        if on_error == "skip":
            raise SpecError('on_error="skip" is for a batch; a single file is there or is not')
        return decode_one(decode, data, source)
    found, places, skipped = decode_many(
        decode, batch(contents), source, num_threads=num_threads, on_error=on_error
    )
    stacked = channels is not None and frames is not None
    result = _stacked(found, (frames or 0, channels or 0), name) if stacked else found
    if on_error == "raise":
        return result
    return DecodedBatch(result, np.array(places, np.int64), skipped)


def _checked_desired(what: str, given: Any, *, least: int) -> int | None:
    """Return how many are wanted; None: as many as there are."""
    integer = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not integer or (given < least and given != -1):
        raise SpecError(f"{what} must be an integer, -1 or at least {least}, not {given!r}")
    return None if given == -1 else int(given)


def _read(data: bytes, dtype: str, limit: int) -> Audio:
    if not data:
        raise broken("the value is empty, and no audio")
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        _check_wav(data)
    elif not data.startswith(b"fLaC"):
        raise broken("unknown audio format: it is neither WAV nor FLAC")
    try:
        with soundfile.SoundFile(BytesIO(data)) as file:
            return Audio(_samples(file, dtype, limit), int(file.samplerate))
    except (Error, MemoryError):
        raise
    except Exception as error:
        raise broken(f"the audio cannot be decoded: {error}") from error


def _check_wav(data: bytes) -> None:
    """Refuse a file whose samples are cut off: the library would give those that are there."""
    place = 12
    while data[place : place + 4] != b"data":
        if place + 8 > len(data):
            raise broken("the WAV audio has no data chunk, or is cut off before it")
        length = int.from_bytes(data[place + 4 : place + 8], "little")
        place += 8 + length + length % 2
    length, have = int.from_bytes(data[place + 4 : place + 8], "little"), len(data) - place - 8
    if have < 0 or (length > have and length != _UNKNOWN_LENGTH):
        text = f"the WAV audio is cut off: {max(have, 0)} of {length} bytes of samples are there"
        raise broken(text)


def _samples(file: Any, dtype: str, limit: int) -> npt.NDArray[Any]:
    """Return all samples, shape (frames, channels)."""
    announced, blocks, frames = file.frames, [], 0
    _check_limit(announced * file.channels, limit)
    most = max(_BLOCK // file.channels, 1)
    while len(block := file.read(most, dtype=dtype, always_2d=True)):
        blocks.append(block)
        frames += len(block)
        _check_limit(frames * file.channels, limit)
    if frames < announced:
        raise broken(f"the audio is cut off: {frames} of {announced} frames are there")
    return np.concatenate(blocks) if blocks else np.empty((0, file.channels), dtype)


def _check_limit(samples: int, limit: int) -> None:
    if samples > limit:
        raise broken(
            f"the audio has {samples:,} samples: more than max_samples={limit:,}, which protects "
            "from files that fill the memory"
        )


def _fitted(audio: Audio, channels: int | None, frames: int | None) -> Audio:
    """Return the audio with that many channels and frames."""
    samples = audio.samples
    if channels is not None:
        samples = samples[:, np.minimum(np.arange(channels), samples.shape[1] - 1)]
    if frames is not None:
        fitted = np.zeros((frames, samples.shape[1]), samples.dtype)
        fitted[: len(samples)] = samples[:frames]
        samples = fitted
    return Audio(samples, audio.sample_rate)


def _stacked(found: list[Audio], shape: tuple[int, int], dtype: str) -> Audio:
    samples = (
        np.stack([audio.samples for audio in found]) if found else np.empty((0, *shape), dtype)
    )
    return Audio(samples, np.array([audio.sample_rate for audio in found], np.int32))
