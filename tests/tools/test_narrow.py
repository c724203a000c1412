"""Pages that are read on a phone."""

import re

from tools.site.narrow import LONG, WIDE, for_narrow_screens

SPACE = '<span class="w"> </span>'


def shell(text: str) -> str:
    return f'<div class="highlight-console notranslate"><pre><span></span>{text}\n</pre></div>'


def kept(word: str) -> str:
    return f'<span class="word">{word}</span>'


def test_commands_are_not_broken_at_hyphens() -> None:
    plan = 'plan-<span class="m">2</span>.json'
    page = for_narrow_screens(shell(f"privtally{SPACE}learn{SPACE}-o{SPACE}{plan}"))
    assert page == shell(f"privtally{SPACE}learn{SPACE}{kept('-o')}{SPACE}{kept(plan)}")


def test_what_a_command_prints_wraps_between_words() -> None:
    whole = '<span class="whole">corr-rr</span>'
    page = for_narrow_screens(shell('<span class="go">Run corr-rr with 5 %</span>'))
    assert page == shell(f'<span class="go">Run {kept(whole)} with 5 %</span>')


def test_other_code_is_left_alone() -> None:
    code = '<div class="highlight-python notranslate"><pre>a-b</pre></div>'
    assert for_narrow_screens(code) == code


def test_names_that_are_wider_than_a_line_may_be_broken() -> None:
    names = {size: for_narrow_screens(f'<span class="pre">{"&lt;" * size}</span>') for size in (WIDE, LONG, LONG + 1)}
    assert [name.partition(">")[0] for name in names.values()] == [
        '<span class="pre"',
        '<span class="pre wide"',
        '<span class="pre long"',
    ]


def test_paths_may_be_broken_between_their_parts() -> None:
    page = for_narrow_screens('<span class="pre">service/test_crashes.py</span>')
    assert page == '<span class="pre wide">service/<wbr>test_<wbr>crashes.py</span>'


def test_names_and_numbers_with_a_hyphen_stay_whole() -> None:
    page = for_narrow_screens('<p title="corr-rr">corr-rr, rs-rfd: 6.1e-05 --top, not-corr-rr</p>')
    whole = [f'<span class="whole">{text}</span>' for text in ("corr-rr", "rs-rfd", "6.1e-05", "--top")]
    assert page == '<p title="corr-rr">{}, {}: {} {}, not-corr-rr</p>'.format(*whole)


def test_a_picture_leads_to_itself_in_full_size() -> None:
    picture = '<img alt="a" src="../_images/demo.png" />'
    assert for_narrow_screens(picture) == f'<a class="picture" href="../_images/demo.png">{picture}</a>'


def test_pages_of_the_service_are_shown_as_phones_have_them() -> None:
    page = for_narrow_screens('<img alt="a" src="../_images/pages-first.png" />')
    assert re.findall(r'srcset="([^"]*)"', page) == ["../_images/pages-first-phone.png"]
    assert page.count("<img") == 1
