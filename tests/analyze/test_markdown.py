"""Markdown for language models: the page's own content, and nothing of its frame."""

import time

import pytest

from gossamer.analyze.markdown import markdown_of, whole_markdown_of
from tests.pages import document

TEXT = "Lamps are made of brass, glass and patience, and they last for longer than most of us expect. " * 4
FRAME = (
    "<html lang=en><head><title>Lamps | Shop</title></head><body>"
    "<a class=skip-link href=#main>Skip</a><header><p>Big banner</p></header>"
    "<nav><a href=/a>Menu one</a></nav><div id=cookie-banner>We use cookies</div>{}"
    "<aside>Also see</aside><form><input><button>Subscribe</button></form><footer>Imprint</footer>"
    "<script>var hidden = 1</script></body></html>"
)
MENU = "".join(f"<a href=/{n}>Department number {n}</a> " for n in range(12))
TEASER = (
    "<div class=box><h3><a href=/t>Ten tables</a></h3><p>Tables are what lamps stand on, and we have ten.</p></div>"
)
COMMENT = "<div class=comment><p>I like lamps and always have, since I was a child of eleven.</p></div>"
ARTICLE = (
    "<html lang=en><head><title>About lamps | Shop</title>"
    '<script type="application/ld+json">{"@type": "NewsArticle", "headline": "About lamps"}</script></head><body>'
    f"<a href=#main>Skip to content</a><div class=header>{MENU}</div><div class=columns><div class=middle>"
    "<div class=top><h1>About lamps</h1><div>By Ann, 4 March</div>"
    "<ul class=share-bar><li><a href=/f>Share</a></ul></div>"
    f"<div class=body><p>{TEXT[:90]} and inside the first paragraph this</p><div class=ad-slot>Department</div>"
    f"<p>{TEXT}</p><ul><li>Glass</li><li>Brass</li></ul><h2>More from us</h2><ul>"
    "<li><a href=/x>Ten tables to put one on</a><li><a href=/y>Photo 7 of 12</a><li><a href=/z>Ten tables more</a></ul>"
    "<table><tr><th>Name<th>Price<tr><td>Small<td>10</table><aside class='admonition note'>Shade: the upper part of a "
    f"lamp</aside><p>{TEXT}</p></div><div class=body><p>{TEXT}</p></div>"
    f"<div id=comments>{COMMENT * 9}</div></div><div class=right>{TEASER * 9}</div></div>"
    "<div class=gdprBar>"
    "Cookies are used by this shop to count.</div>"
    "<form><p>Subscribe to our letters.</p></form><footer>Imprint</footer></body></html>"
)


def test_the_frame_of_a_page_is_not_in_it() -> None:
    page = FRAME.format(
        f"<main><h1>About lamps</h1><p>{TEXT}</p><p hidden>secret</p>"
        "<p>Shown<span style='display: none'> not</span></p></main>"
    )
    assert markdown_of(document(page)) == f"# About lamps\n\n{TEXT.strip()}\n\nShown"


def test_headings_lists_tables_code_and_emphasis_are_kept_and_addresses_are_whole() -> None:
    content = (
        f"<article><h1>About&nbsp;lamps<a href='#x'>¶</a></h1><p>{TEXT}</p><h2>Parts</h2><ul><li>foot</li>"
        "<li>shade</li></ul><p>See <a href='more?a=1'>more</a> and <em>this.</em> soft\u00adhyphen</p>"
        "<table><tr><th>Name</th><th>Price</th></tr><tr><td>Small</td><td>10</td></tr></table>"
        "<pre><code class=language-python>x = 1\n\n\n\ny = 2</code></pre></article>"
    )
    made = markdown_of(document(FRAME.format(content)))
    assert made.startswith("# About lamps\n\n")
    for part in (
        "## Parts\n\n- foot\n- shade",
        "See [more](https://shop.test/more?a=1) and *this.* softhyphen",
        "| Name | Price |\n| --- | --- |\n| Small | 10 |",
        "```python\nx = 1\n\n\n\ny = 2\n```",
    ):
        assert part in made
    assert "\n\n\n" not in made.replace("x = 1\n\n\n\ny", "")


def test_without_marks_the_content_is_found_with_its_title_and_first_words() -> None:
    menus = "<div>" + "".join(f"<a href=/{n}>Department number {n}</a> " for n in range(12)) + "</div>"
    content = f"<div><h1>About lamps</h1><p><i>4 March</i></p><div class=text><p>{TEXT}</p><p>{TEXT}</p></div></div>"
    made = markdown_of(document(FRAME.format(f"<div>{menus}{content}</div>")))
    assert made.startswith("# About lamps\n\n*4 March*\n\nLamps are made")
    assert "Department" not in made


def test_a_page_that_is_all_list_is_kept_whole_and_has_its_title() -> None:
    items = "".join(f"<li><a href=/{n}>Lamp {n}</a> costs {n} Euro</li>" for n in range(30))
    made = markdown_of(document(FRAME.format(f"<ul>{items}</ul>")))
    assert made.startswith("# Lamps | Shop\n\n- [Lamp 0](https://shop.test/0) costs 0 Euro")
    assert "Lamp 29" in made


def test_what_holds_more_than_half_of_the_words_is_no_frame_whatever_it_is_called() -> None:
    wrapped = (
        f"<body><form id=aspnetForm action=/x><h1>About lamps</h1><p>{TEXT}</p></form>",
        f"<body><header><h1>About lamps</h1><p>{TEXT}</p><p>{TEXT}</p>",
        f"<body class='page has-consent'><h1>About lamps</h1><p>{TEXT}</p>",
        f"<body><div class='page has-consent'><h1>About lamps</h1><p>{TEXT}</p></div>",
        f"<body><div class='content sidebar'><h1>About lamps</h1><p>{TEXT}</p></div>",
        f"<body><div aria-hidden=true><h1>About lamps</h1><p>{TEXT}</p></div>",
        f"<body><nav><h1>About lamps</h1><p>{TEXT}</p>",
        f"<body><div hidden id=app><h1>About lamps</h1><p>{TEXT}</p></div>",
        f"<body><div class=cookie-wall><h1>About lamps</h1><p>{TEXT}</p></div>",
        f"<body><aside role=complementary><h1>About lamps</h1><p>{TEXT}</p></aside>",
    )
    for page in wrapped:
        assert markdown_of(document(page + "<footer><a href=/i>Imprint</a></footer>")).startswith(
            f"# About lamps\n\n{TEXT.strip()}"
        ), page[:60]


@pytest.mark.parametrize("name", ["toc", "search-results", "tags", "popular list", ""])
def test_a_list_of_links_that_is_most_of_a_page_is_what_the_page_is_about(name: str) -> None:
    listed = "".join(f"<li><a href=/p{number}>Boat of oak number {number}</a></li>" for number in range(60))
    prose = f"<h1>Boats</h1><p>{'We build boats of oak for people all over the country. ' * 6}</p>"
    assert "number 59" in markdown_of(document(f'<body>{prose}<div class="{name}"><ul>{listed}</ul></div>'))
    assert "number 59" not in markdown_of(document(f'<body><div class="main-menu"><ul>{listed}</ul></div>{prose}'))


@pytest.mark.parametrize(
    "page",
    [
        "<nav><a href=/a>Lamp</a> <a href=/b>Table</a> <a href=/c>Chair</a></nav>",
        "<form><p>Lamp</form>",
        "<button>Lamp</button>",
        "<div class=cookie-consent>Lamp</div>",
        "<aside>Lamp</aside><footer></footer>",
        "<select><option>Lamp</select>",
        "<svg><text>Lamp</text></svg>",
        "<dialog open>Lamp</dialog>",
        "<ul><section>Lamp</section></ul>",
        "<header><div aria-hidden=true>Lamp",
    ],
)
def test_a_page_that_has_words_has_markdown(page: str) -> None:
    assert "Lamp" in markdown_of(document(page))


def test_names_that_only_begin_like_those_of_a_frame_are_names() -> None:
    box = "<div class='adFHlH _0xLoFW'><p>Was 40 EUR, now 20 EUR</p></div><div id=navyBlue>Also in navy blue</div>"
    made = markdown_of(document(FRAME.format(f"<h1>Lamp</h1>{box}<p>{TEXT}</p>")))
    assert "now 20 EUR" in made
    assert "Also in navy blue" in made


def test_frames_that_leave_next_to_nothing_were_none() -> None:
    panels = "".join(f"<div aria-hidden=true><p>{TEXT}</p></div>" for _ in range(3))
    made = markdown_of(document(f"<h1>Lamp</h1>{panels}<div role=dialog>We ask you for something.</div>"))
    assert made.count("Lamps are made") >= 2


def test_an_article_is_left_without_what_leads_elsewhere() -> None:
    made = markdown_of(document(ARTICLE))
    assert made.startswith("# About lamps\n\nBy Ann, 4 March")
    assert made.count("Lamps are made") == 1 + 3 * 4
    for left in ("inside the first", "- Glass", "| Small | 10 |", "Shade: the upper part"):
        assert left in made
    for gone in (
        "Skip to content",
        "Department",
        "Share",
        "More from us",
        "Ten tables",
        "Tables are",
        "I like lamps",
        "Subscribe",
        "Imprint",
        "Photo 7",
        "Cookies",
    ):
        assert gone not in made, gone


def test_a_page_that_is_no_article_keeps_what_stands_beside_its_text() -> None:
    page = (
        f"<body><div class=top>{MENU}</div><div class=row><div class=info><h1>Brass lamp</h1><p>{TEXT}</p></div>"
        "<div class=buy><span>129.00 EUR</span> <a href=/ship>free shipping</a> In stock</div></div>"
        "<div class=where>Lamp Street 5, 10115 Berlin</div>"
    )
    made = markdown_of(document(page))
    assert "129.00 EUR" in made
    assert "Lamp Street 5" in made
    assert "Department" not in made


def test_cards_that_open_over_a_name_leave_the_name() -> None:
    card = (
        "<span class=who><a href=/ann>Ann Smith</a><span><a href=/ann>Ann B. Smith</a> "
        "<a href=/1>Ann Smith has written of lamps</a> <a href=/2>And once more of chairs</a></span></span>"
    )
    made = markdown_of(document(f"<article><h1>Lamps</h1><p>We asked {card} what she thinks. {TEXT}</p></article>"))
    assert "We asked [Ann Smith](https://shop.test/ann) what she thinks." in made
    assert "once more" not in made


def test_few_characters_are_prose_where_a_character_is_a_word() -> None:
    words = "ランプは真鍮とガラスと忍耐でできていて、たいていの人が思うよりも長持ちします。"
    text = "".join(f"<p>{words}</p>" for _ in range(10))
    page = f"<body><div>{MENU}</div><div><h1>ランプ</h1><div>{text}</div></div><div>{MENU}</div>"
    made = markdown_of(document(f"<meta property='article:published_time' content='2026-03-04'>{page}"))
    assert made.count(words) == 10
    assert "Department" not in made


def test_the_whole_page_can_be_had() -> None:
    made = whole_markdown_of(document(ARTICLE))
    for all_of_it in ("Skip to content", "Department", "Ten tables", "I like lamps", "Imprint", "Lamps are made"):
        assert all_of_it in made, all_of_it
    assert whole_markdown_of(document("<button>Lamp</button>")) == "Lamp"


def test_addresses_that_are_programs_do_not_survive() -> None:
    made = whole_markdown_of(
        document(
            "<title>[T](javascript:alert(1))</title><p>"
            "<a href='javascript:alert(1)'>one</a> <a href=' JaVa&#9;script&#58;alert(1)'>two</a> "
            "<a href='&#1;vbscript:x'>three</a> <a href='data:text/html,x'>four</a> <a href=/ok>five</a> "
            "<img src='data:image/png;base64,AAAA' alt=no>"
            "<img src='data:image/gif;base64,AA' alt=6 data-src=6.png> "
            "<img src='/six.png' alt='](javascript:alert(1))'> "
            "[seven](javascript:alert(1)) <video src='javascript:alert(1)'>eight</video>"
        )
    )
    assert made == (
        "# \\[T\\](javascript:alert(1))\n\n"
        "one two three four [five](https://shop.test/ok) ![6](https://shop.test/6.png) "
        "![\\](javascript:alert(1))](https://shop.test/six.png) "
        "\\[seven\\](javascript:alert(1)) eight"
    )


def test_control_characters_do_not_survive() -> None:
    page = "<title>L\x07amp</title><p>a\x1b[31mred\x1b[0m b\x0cc\x85d \x9be\x7f</p><pre>x\ty\x1b[2J\nz</pre>"
    made = markdown_of(document(page))
    assert made == "# Lamp\n\na\\[31mred\\[0m b c d e\n\n```\nx\ty[2J\nz\n```"


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 200_000 + "x",
        "<nav>" * 100_000 + "x",
        "<ul><li>" * 50_000 + "x <a href=a>b</a>",
        "<span>" * 400 + "word " * 200_000,
        "<div>" * 400 + f"<p>{TEXT}</p><a href=x>link</a>" * 5_000,
        "<ul><li>some text of its own in every list " * 400 + "<a href=x>l</a>" * 50_000,
        "<div><h2><a href=/x>A page elsewhere</a></h2><p>of which these are the first words</p></div>" * 20_000,
        "<p>" + "some text <span><a href=a>aaaaaa</a><a href=b>bbb</a><a href=c>ccc</a></span>" * 20_000,
        f"<div class='{'sidebar ' * 20_000}'>x</div>" * 20,
        "<div hidden>x</div>" * 50_000,
        "<table><tr><td>" * 10_000 + "x",
        "<h2>x</h2><nav><a href=a>a</a><a href=b>b</a><a href=c>c</a></nav>" * 20_000,
        "<title>" + "[" * 200_000 + "</title><p>x",
        "<p>x\x1b" * 200_000,
    ],
    ids=lambda page: page[:30],
)
def test_a_page_made_to_hurt_takes_no_more_than_its_size(page: str) -> None:
    doc = document(page)
    began = time.process_time()
    assert markdown_of(doc)
    assert time.process_time() - began < 20  # a tenth of a second to one on any machine; squared it is hours
