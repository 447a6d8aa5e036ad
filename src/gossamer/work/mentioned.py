"""From what a person wants forgotten to what is looked for."""

from gossamer.errors import UserError
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.url import site_of
from gossamer.retain.mention import Mention, of_domain, of_page
from gossamer.work.explain import spellings_of


def page_named(url: str) -> Mention:
    urls = spellings_of(url)
    host = read_domain(clean(url))
    if isinstance(host, Refusal) or not urls:
        why = f": it {host.why}" if isinstance(host, Refusal) else ""
        raise UserError(
            "forget.url", f"{url!r} is no web address{why}.", hint="Give one like https://shop.example/about."
        )
    return of_page(urls)


def domain_named(text: str) -> Mention:
    domain = read_domain(clean(text))
    if isinstance(domain, Refusal):
        raise UserError("forget.domain", f"{text!r} is no domain: it {domain.why}.", hint="Give one like shop.example.")
    return of_domain(site_of(domain.host))
