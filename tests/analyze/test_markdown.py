"""Markdown for language models: the page's own content, and nothing of its frame."""

from gossamer.analyze.markdown import markdown_of
from tests.pages import document

TEXT = "Lamps are made of brass, glass and patience, and they last for longer than most of us expect. " * 4
FRAME = (
    "<html lang=en><head><title>Lamps | Shop</title></head><body>"
    "<a class=skip-link href=#main>Skip</a><header><p>Big banner</p></header>"
    "<nav><a href=/a>Menu one</a></nav><div id=cookie-banner>We use cookies</div>{}"
    "<aside>Also see</aside><form><input><button>Subscribe</button></form><footer>Imprint</footer>"
    "<script>var hidden = 1</script></body></html>"
)


def test_the_frame_of_a_page_is_not_in_it() -> None:
    page = FRAME.format(f"<main><h1>About lamps</h1><p>{TEXT}</p><p hidden>secret</p></main>")
    assert markdown_of(document(page)) == f"# About lamps\n\n{TEXT.strip()}"


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
