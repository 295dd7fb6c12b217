"""From a folder of images, a sub-folder a class, to sharded TFRecords: an Example an image.

    photos/cat/1.jpg
    photos/dog/1.jpg   ...

The features have the names that TensorFlow's own image data sets have.
"""

import errno
import os
import random
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tfrecs._internal.checks import checked_name
from tfrecs.errors import (
    MissingFileError,
    MissingLibraryError,
    ParseError,
    SpecError,
    file_error,
)
from tfrecs.examples.rows import encode_example
from tfrecs.formats.shards import (
    Conversion,
    OnError,
    Outcome,
    Output,
    Progress,
    Skipped,
    allot,
    default_split,
    file_errors,
    write_shards,
)
from tfrecs.media.headers import read_header

try:
    from tfrecs.media.pictures import Wanted, decode
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'converting images needs Pillow: pip install "tfrecs[images]"', name=error.name
    ) from error

SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"}

# What an operating system leaves in folders, as it does names that begin with a dot.
_LITTER = {"Thumbs.db", "desktop.ini"}

_SPLIT_NAME = re.compile(r"train(ing)?|te?st(ing)?|eval|val(id(ation)?)?|dev", re.IGNORECASE)


def convert_images(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    split: Mapping[str, float] | None = None,
    num_shards: int | Mapping[str, int] | None = None,
    compression_type: str = "",
    seed: int = 0,
    on_error: OnError = "fail",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Conversion:
    """Convert a folder of images, a sub-folder a class, to TFRecords.

    PNG, JPEG, GIF, BMP and WebP; every image is decoded once to see that it is whole. The images
    of a split are shuffled, so that every shard has some of every class. An Example has:

    | feature | |
    |---|---|
    | image/encoded | the file's bytes, as they are |
    | image/format | png, jpeg, gif, bmp or webp, from the bytes, not from the name |
    | image/height, image/width | in pixels, as stored |
    | image/channels | of what `decode_image` gives: 1 grey, 3 colours, 2 or 4 with alpha |
    | image/class/label | the number of the class among the sorted sub-folders, from 0 |
    | image/class/text | the sub-folder's name |
    | image/filename | the path below `src`, with / |

    Args:
        src: The folder. Every folder in it is a class, and every image below that is of the class.
        dst: The folder for the shards, `train-00000-of-00010.tfrecord` and so on.
        split: The fraction of the images for each split, such as `{"train": 0.9, "test": 0.1}`,
            kept in every class. None is one split with the name of `src`.
        num_shards: How many shards each split has, or a number by split; None is one for every 128
            MiB.
        compression_type: "", "GZIP" or "ZLIB". Most image formats are compressed already.
        seed: Chooses which images go to which split, and their order.
        on_error: What an image that cannot be decoded does: "fail" raises, "skip" leaves it out and
            reports it. Files that are no images by their names are left out and reported in any
            case; hidden ones are ignored.
        overwrite: Whether to replace shards of the same splits.
        progress: Called now and then with the images done and all images.

    Returns:
        What was written, and what was skipped.

    Raises:
        ParseError: An image cannot be decoded.
        SpecError: An option makes no sense, or the sub-folders are splits and not classes.
        MissingFileError: There is no such folder, or there are no images in its sub-folders.
        FileError: A file cannot be read or written, or shards are there already.

    Example:
        >>> import pathlib, tfrecs
        >>> from PIL import Image
        >>> from tfrecs import convert_images
        >>> for colour in ("green", "red"):
        ...     pathlib.Path("photos", colour).mkdir(parents=True)
        ...     Image.new("RGB", (3, 2), colour).save(f"photos/{colour}/1.png")
        >>> report = convert_images("photos", "out")
        >>> report.paths
        ['out/photos-00000-of-00001.tfrecord']
        >>> examples = map(tfrecs.decode_example, tfrecs.RecordReader(report.paths[0]))
        >>> sorted((e["image/class/label"], e["image/class/text"]) for e in examples)
        [([0], [b'green']), ([1], [b'red'])]
    """
    src, dst = checked_name(src), checked_name(dst)
    splits = split or default_split(src)
    output = Output(dst, splits, num_shards, compression_type, on_error, overwrite, progress)
    with file_errors():
        images, skipped = _listed(Path(src))
    rng = random.Random(seed)
    chosen = _chosen(images, splits, rng)
    return write_shards(
        ((split, os.fspath(image.path), _outcome(image)) for split, image in chosen),
        output,
        total=len(images),
        input_bytes=sum(image.size for image in images),
        skipped=skipped,
    )


@dataclass(frozen=True, slots=True)
class _Listed:
    """An image file; what is in it is not known yet."""

    path: Path
    name: str  # below the source folder, with /
    label: int
    size: int


def _listed(src: Path) -> tuple[list[_Listed], list[Skipped]]:
    """Return the images, by class, and the files that are none."""
    entries = sorted(path for path in src.iterdir() if not path.name.startswith("."))
    classes = [path for path in entries if path.is_dir()]
    _check_layout(src, classes)
    skipped = [
        Skipped(os.fspath(path), "is not in the folder of a class")
        for path in entries
        if path not in classes and path.name not in _LITTER
    ]
    images = []
    for label, folder in enumerate(classes):
        for path in _files_below(folder):
            if path.suffix.lower() in SUFFIXES:
                name = path.relative_to(src).as_posix()
                images.append(_Listed(path, name, label, _size_of(path)))
            else:
                skipped.append(Skipped(os.fspath(path), "is no image by its name"))
    if not images:
        wanted = ", ".join(sorted(SUFFIXES))
        text = f"{src}: has no images in its class folders ({wanted})"
        raise MissingFileError(text, path=src)
    return images, skipped


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # a link that leads nowhere: whoever reads it says so
        return 0


def _check_layout(src: Path, classes: list[Path]) -> None:
    if not classes:
        raise MissingFileError(
            f"{src}: has no sub-folders: put the images of each class in a folder of its own",
            path=src,
        )
    if all(_SPLIT_NAME.fullmatch(path.name) for path in classes):
        raise SpecError(
            f"{src}: its sub-folders look like splits ({', '.join(p.name for p in classes)}), not "
            "like classes: convert each of them by itself",
            path=src,
        )


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name not in _LITTER:
                yield Path(parent, name)


def _chosen(
    images: list[_Listed], splits: Mapping[str, float], rng: random.Random
) -> list[tuple[int, _Listed]]:
    """Give each image a split, class by class, and shuffle them."""
    sizes = [0] * (images[-1].label + 1)
    for image in images:
        sizes[image.label] += 1
    chosen = list(zip(allot(sizes, splits, rng), images, strict=True))
    rng.shuffle(chosen)
    return chosen


def _content(path: Path) -> bytes:
    """Return the bytes of a regular file; a pipe would be waited for, and a device has no end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - opened above
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "this is not a regular file")
        return file.read()


def _outcome(image: _Listed) -> Outcome:
    """Return the Example of an image, or what is wrong with it."""
    try:
        data = _content(image.path)
    except OSError as error:
        return file_error(error, os.fspath(image.path))
    try:
        features = _decoded(data)
    except ParseError as error:
        return ParseError(f"{image.path}: {error.reason}", path=image.path, reason=error.reason)
    return encode_example(
        {
            "image/encoded": data,
            **features,
            "image/class/label": image.label,
            "image/class/text": os.fsencode(image.name.split("/", maxsplit=1)[0]),
            "image/filename": os.fsencode(image.name),
        }
    )


def _decoded(data: bytes) -> dict[str, int | str]:
    """Decode the whole image, and return what an Example says about it."""
    height, width, channels = decode(data, Wanted(expand_animations=False)).shape
    return {
        "image/format": read_header(data).format,
        "image/height": height,
        "image/width": width,
        "image/channels": channels,
    }
