"""Number and article of the nouns in messages."""


def plural(count: float | None, noun: str, many: str | None = None) -> str:
    """Return `noun` for one, and its plural for any other number.

    Args:
        count: How many there are; inf and None, for unknown, take the plural.
        noun: The noun for one.
        many: The plural, where it is not the noun with an s.

    Example:
        >>> [f"{count} {plural(count, 'row')}" for count in range(3)]
        ['0 rows', '1 row', '2 rows']
        >>> plural(2, "entry", "entries")
        'entries'
    """
    if count == 1:
        return noun
    return many or f"{noun}s"


def counted(count: float | None, noun: str, many: str | None = None) -> str:
    """Return a number and the noun that it takes, as plural() does.

    Example:
        >>> [counted(count, "row") for count in (0, 1, 1_000)]
        ['0 rows', '1 row', '1000 rows']
    """
    return f"{count} {plural(count, noun, many)}"


def with_article(type_name: str) -> str:
    """Return the name of a type after the article it takes; that of None is a name of its own.

    Example:
        >>> [with_article(name) for name in ("int", "list", "ndarray", "uint8", "NoneType")]
        ['an int', 'a list', 'an ndarray', 'a uint8', 'None']
    """
    if type_name == "NoneType":
        return "None"
    vowel = type_name[:1] in tuple("aeioAEIO") or type_name == "ndarray"
    return f"{'an' if vowel else 'a'} {type_name}"
