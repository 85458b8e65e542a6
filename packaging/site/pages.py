"""Lays the documents out for mkdocs: pages.py FOLDER.

The tree stays as it is in the repository, so that links between documents hold. What documents link to and is no document,
as a program or a folder, becomes a page: a program shows its text, a folder its files.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\[[^\]\n]*\]\()([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```\s*?$", re.MULTILINE | re.DOTALL)


def documents():
    """The documents' paths, relative to the root."""
    yield pathlib.Path("README.md")
    yield pathlib.Path("CONTRIBUTING.md")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield path.relative_to(ROOT)


def page_of(target):
    """The page of what a document links to: a path relative to the root, or None where there is nothing."""
    if not (ROOT / target).exists():
        return None
    if (ROOT / target).is_dir():
        return target / "README.md"
    return target if target.suffix == ".md" else target.with_name(target.name + ".md")


def title_of(text, path):
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return heading.group(1) if heading else path.name


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.waiting = list(documents()) + [pathlib.Path("examples"), pathlib.Path("docs/lessons")]
        self.written = set()

    def write(self):
        while self.waiting:
            path = self.waiting.pop()
            page = page_of(path)
            if page in self.written:
                continue
            self.written.add(page)
            output = self.folder / page
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(self.text_of(path), encoding="utf-8")

    def text_of(self, path):
        source = ROOT / path
        if source.is_dir():
            return self.listing(path)
        text = source.read_text(encoding="utf-8")
        if path.suffix == ".md":
            return self.document(path, text)
        language = "kiln" if path.suffix == ".kiln" else "text"
        return f"# {path}\n\n~~~~~~{language}\n{text}\n~~~~~~\n"

    def document(self, path, text):
        """A document with its links led to pages, and its examples marked as Kiln's."""
        parts, end = [], 0
        for fence in FENCE.finditer(text):
            parts.append(self.linked(path, text[end : fence.start()]))
            indent, language, body = fence.groups()
            language = language or ("kiln" if re.search(r"^ *(kiln> |fn |@jit|import |struct )", body, re.MULTILINE) else "text")
            parts.append(f"{indent}```{language}\n{body}{indent}```")
            end = fence.end()
        return "".join(parts) + self.linked(path, text[end:])

    def linked(self, path, text):
        def lead(match):
            opening, target, place = match.groups()
            if "://" in target or "`" in opening:
                return match.group(0)
            absolute = (ROOT / path.parent / target).resolve()
            relative = absolute.relative_to(ROOT) if absolute.is_relative_to(ROOT) else None
            page = page_of(relative) if relative else None
            if page is None:
                return match.group(0)  # mkdocs names a link that leads nowhere
            self.waiting.append(relative)
            up = "../" * len(path.parent.parts)
            return f"{opening}{up}{page}{place or ''})"

        return LINK.sub(lead, text)

    def listing(self, path):
        """A page for a folder: its programs, or its documents, each with what it says of itself."""
        rows = []
        for child in sorted((ROOT / path).iterdir()):
            if child.suffix not in (".kiln", ".md"):
                continue
            self.waiting.append(child.relative_to(ROOT))
            text = child.read_text(encoding="utf-8")
            comment = re.search(r"^# ([^#\n].*)$", text, re.MULTILINE)
            name = title_of(text, child) if child.suffix == ".md" else child.name
            says = comment.group(1) if comment and child.suffix == ".kiln" else ""
            rows.append(f"| [{name}]({page_of(child.relative_to(ROOT)).name}) | {says} |")
        return f"# {path.name.capitalize()}\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Site(pathlib.Path(sys.argv[1])).write()
