"""What a pass over damaged files has skipped."""

from tfrecs._internal.wording import counted
from tfrecs.records.salvage import SkippedRegion


class Losses:
    """What a pass has skipped.

    Attributes:
        regions: How many regions: no more than records were lost.
        nbytes: How many bytes they have together.
        files: How many regions each damaged file has, by its path.
    """

    def __init__(self) -> None:
        """Count nothing yet."""
        self.clear()

    def clear(self) -> None:
        """Begin again."""
        self.regions = 0
        self.nbytes = 0
        self.files: dict[str, int] = {}

    def add(self, path: str, region: SkippedRegion) -> None:
        """Count a region."""
        self.regions += 1
        self.nbytes += region.nbytes
        self.files[path] = self.files.get(path, 0) + 1

    def __repr__(self) -> str:
        """Show the numbers."""
        regions = counted(self.regions, "region")
        lost = counted(self.nbytes, "byte")
        return f"Losses({regions}, {lost}, {counted(len(self.files), 'file')})"
