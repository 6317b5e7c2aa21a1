"""Tables in a document that people write: each stands between two comments with its name, and is made anew there."""
import re


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def write(path, tables):
    """{name: text}, into the place of each; what the document has no place for is an error."""
    text = path.read_text()
    for name, made in tables.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.S)
        if not place.search(text):
            raise RuntimeError(f"{path.name} has no place for {name}")
        text = place.sub(lambda found: found.group(1) + "\n" + made + "\n\n" + found.group(2), text)
    path.write_text(text)
