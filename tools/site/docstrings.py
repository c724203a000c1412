"""Docstrings are plain text; autodoc reads reStructuredText, where an indented block is code only after `::`."""


def as_restructured_text(lines: list[str]) -> list[str]:
    """The same lines, with every indented block marked as code."""
    marked: list[str] = []
    in_block = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not in_block and (not marked or not marked[-1].strip()):
            marked += ["::", ""]
        if line.strip():
            in_block = indented
        marked.append(line)
    return marked
