"""The words of a bash command line that is being typed, and the text that bash inserts for a completed word."""

from dataclasses import dataclass, field

SPECIAL = " \t\"'`$&|;<>()*?[]{}!#~\\"


@dataclass
class BashLine:
    """The complete words, and the word at the cursor: its text, its open quote, and how much of it bash keeps.

    bash splits a word at the characters of COMP_WORDBREAKS, which contain the colon, and replaces only the last part.
    """

    words: list[str] = field(default_factory=list)
    current: str = ""
    quote: str = ""
    kept: int = 0

    def rest_of(self, word: str) -> str:
        """What bash inserts for `word`, which begins with `current`: the part after `kept`, with its quotes."""
        return quoted(word[self.kept :], self.quote)


def quoted(text: str, quote: str) -> str:
    """The text as it is written without quotes, or inside an open quote; bash closes that quote itself."""
    if quote == "'":
        return text.replace("'", "'\\''")
    special = '"\\$`' if quote else SPECIAL
    return "".join(f"\\{char}" if char in special else char for char in text)


def read_bash_line(line: str, breaks: str) -> BashLine:
    """Reads a line up to the cursor. `breaks` is COMP_WORDBREAKS."""
    found, begun, chars = BashLine(), False, iter(line)
    for char in chars:
        if found.quote:
            if char == found.quote:
                found.quote, found.kept = "", len(found.current)
            elif char == "\\" and found.quote == '"':
                after = next(chars, "")
                found.current += after if after in '"\\$`' else f"\\{after}"
            else:
                found.current += char
        elif char in " \t\n":
            if begun:
                found.words.append(found.current)
            found.current, found.kept, begun = "", 0, False
            continue
        elif char in "\"'":
            found.quote, found.kept = char, len(found.current)
        elif char == "\\":
            found.current += next(chars, "")
        else:
            found.current += char
            if char in breaks:
                found.kept = len(found.current)
        begun = True
    return found
