"""Tags tie a lemma to the code that it is about: each names one lemma, and both sides have it.

A lemma is where its tag stands in bold, ``**[GA1]``; a tag is one to four capitals and a number. A
page is about the module of its name, a ``proof.md`` about its folder, and any other says so in a
line that begins with ``**Code.**``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headcount

SOURCE = Path(headcount.__path__[0])
TAG = re.compile(r"\[([A-Z]{1,4}\d+)\]")
LEMMA = re.compile(r"\*\*\[([A-Z]{1,4}\d+)\]")
BOLD = re.compile(r"\*\*\[(\w+)\]")
CODE = re.compile(r"^\*\*Code\.\*\* (.+)$", re.MULTILINE)
PLACE = re.compile(r"`([\w/.]+)`")


def modules_of(page: Path, source: Path) -> set[Path]:
    """The modules that a page of proofs is about."""
    said = CODE.search(page.read_text(encoding="utf-8"))
    if said is not None:
        places = [source / place for place in PLACE.findall(said[1])]
    else:
        places = [page.parent if page.name == "proof.md" else page.with_suffix(".py")]
    return {
        module for place in places for module in (place.glob("*.py") if place.is_dir() else [place])
    }


def broken(source: Path) -> list[str]:
    """What is wrong with the tags below a folder."""
    found: list[str] = []
    pages: dict[str, Path] = {}
    about: dict[str, set[Path]] = {}
    for page in sorted(source.rglob("*.md")):
        modules = modules_of(page, source)
        found += [
            f"{page.name} is about {one.name}, which is not" for one in modules if not one.exists()
        ]
        code = "".join(one.read_text(encoding="utf-8") for one in modules if one.exists())
        lemmas = LEMMA.findall(page.read_text(encoding="utf-8"))
        bold = set(BOLD.findall(page.read_text(encoding="utf-8")))
        found += [f"[{one}] of {page.name} is no tag" for one in sorted(bold - {*lemmas})]
        for tag in lemmas:
            if tag in pages:
                found.append(f"[{tag}] names a lemma of {pages[tag].name} and one of {page.name}")
            pages[tag], about[tag] = page, modules
            if f"[{tag}]" not in code:
                found.append(f"[{tag}] of {page.name} is not in its code")
    for path in sorted((*source.rglob("*.md"), *source.rglob("*.py"))):
        for tag in sorted(set(TAG.findall(path.read_text(encoding="utf-8")))):
            if tag not in pages:
                found.append(f"[{tag}] in {path.name} is no lemma")
            elif path.suffix == ".py" and path not in about[tag]:
                found.append(f"[{tag}] in {path.name}, which {pages[tag].name} is not about")
    return found


def test_every_tag_is_a_lemma_and_in_the_code_that_the_lemma_is_about() -> None:
    assert broken(SOURCE) == []


def test_the_rule_can_fail(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "noise.md").write_text("**[AA1]** one. **[AA2]** two.", "utf-8")
    (tmp_path / "noise.py").write_text("# [AA1], [AA3]", "utf-8")
    (tmp_path / "room" / "proof.md").write_text("**[AA1]** another.", "utf-8")
    (tmp_path / "room" / "mechanism.py").write_text("# [AA1] [AA2]", "utf-8")
    (tmp_path / "gone.md").write_text("**Code.** `moved.py`.", "utf-8")
    assert broken(tmp_path) == [
        "gone.md is about moved.py, which is not",
        "[AA2] of noise.md is not in its code",
        "[AA1] names a lemma of noise.md and one of proof.md",
        "[AA1] in noise.py, which proof.md is not about",
        "[AA3] in noise.py is no lemma",
        "[AA2] in mechanism.py, which noise.md is not about",
    ]


@pytest.mark.parametrize("letters", ["A", "AB", "ABC", "ABCD"])
def test_tags_of_one_to_four_letters_are_seen_both_ways(letters: str, tmp_path: Path) -> None:
    (tmp_path / "noise.md").write_text(f"**[{letters}1]** one.", "utf-8")
    (tmp_path / "noise.py").write_text(f"# [{letters}2]", "utf-8")
    assert broken(tmp_path) == [
        f"[{letters}1] of noise.md is not in its code",
        f"[{letters}2] in noise.py is no lemma",
    ]


@pytest.mark.parametrize("tag", ["ABCDE1", "Ab1", "AB", "A1b"])
def test_a_lemma_with_another_tag_is_found(tag: str, tmp_path: Path) -> None:
    (tmp_path / "noise.md").write_text(f"**[{tag}]** one.", "utf-8")
    (tmp_path / "noise.py").write_text(f"# [{tag}]", "utf-8")
    assert f"[{tag}] of noise.md is no tag" in broken(tmp_path)
