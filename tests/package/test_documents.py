"""Links of documents lead somewhere, in the tree and in the package."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts" / "check-links"


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()


def check_links(directory, *documents):
    return subprocess.run([CHECK, directory, *documents], cwd=ROOT, text=True, capture_output=True, check=False)


def test_links_of_the_tree_lead_somewhere():
    done = check_links(ROOT, *tracked("*.md"))
    assert done.returncode == 0, done.stdout


def test_links_of_packaged_documents_lead_to_pages_of_the_package(tmp_path):
    subprocess.run([ROOT / "scripts" / "packaged-documents", tmp_path], check=True)
    recipes = "docs/RECIPES.md"
    code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    assert code.findall((tmp_path / recipes).read_text()) == code.findall((ROOT / recipes).read_text()), "code is changed"
    assert {"API.md", "OPERATIONS.md"} <= {path.name for path in (tmp_path / "docs").iterdir()}
    done = check_links(tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("link, why", [
    ("nowhere.md", "no such file"), ("there.md#other", "no such heading"), ("#other", "no such heading"),
    ("../outside.md", "no such file"), ("there.md#a-heading-of-it", None), ("https://example.org/x.md", None)])
def test_what_is_wrong_would_be_found(tmp_path, link, why):
    inside = tmp_path / "inside"
    inside.mkdir()
    for path in (tmp_path / "outside.md", inside / "there.md"):
        path.write_text("# A `heading` of it\n")
    (inside / "here.md").write_text(f"See [it]({link}).\n")
    done = check_links(inside)
    assert (done.returncode, why is None or why in done.stdout) == (1 if why else 0, True), done.stdout


def test_documents_that_files_name_exist():
    """In messages, comments and settings: a page of docs, with a heading behind it or without."""
    named = subprocess.run(["git", "grep", "-hoE", r"docs/[A-Za-z0-9_/-]+\.md(#[a-z0-9-]+)?"], cwd=ROOT, text=True, capture_output=True,
                           check=True).stdout.split()
    assert "docs/OPERATIONS.md" in named
    assert {name for name in named if not (ROOT / re.sub("#.*", "", name)).exists()} == set()


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_figures_of_the_readme_stand_in_the_results(page):
    """Rows of the table of measurements: every number of them, as `make bench` wrote it. 1,000,000 and 10 are sizes of what is measured."""
    results = (ROOT / "docs" / "bench" / "results.md").read_text(encoding="utf-8")
    table = re.search(r"^\| \| Tidings \| Redis \| \|\n\|---.*\n((?:\|.*\n)+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE).group(1)
    figures = {figure for row in table.splitlines() for cell in row.split("|")[2:] for figure in re.findall(r"\d[\d,.]*\d|\d", cell)}
    assert len(figures) > 15
    assert {figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|,\d)", results)} == set()


def test_both_readmes_have_the_same_parts():
    parts = [len(re.findall(r"^## ", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)) for page in ("README.md", "README.zh-CN.md")]
    links = [set(re.findall(r"\]\(((?:docs|contrib|examples)/?[^)]*)\)", (ROOT / page).read_text(encoding="utf-8").replace("TOUR.zh-CN.md", "TOUR.md")
                            .replace("inbox-zh.png", "inbox-light.png"))) for page in ("README.md", "README.zh-CN.md")]
    assert parts[0] == parts[1] and links[0] == links[1]
