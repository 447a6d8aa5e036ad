"""Settings of a sample web, and the profile of a site before it has pages."""

from dataclasses import dataclass

from gossamer_sandbox.web.names import Name


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of a sample web."""

    sites: int
    seed: int = 7
    nasty: float = 0.25  # share of sites with something wrong
    size_min: int = 4  # pages a site has; what robots.txt, sitemaps and quirks need comes on top
    size_max: int = 24
    retry_after_max: float = 2  # seconds a page asks to wait before it gives itself up after all
    slow_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """A site before it has pages."""

    name: Name
    kind: str
    language: str
    charset: str
    declared: str  # by "header", "meta" or "both"
    robots: str
    sitemap: str
    sitemap_named: bool  # in robots.txt
    size: int
    home_quirk: str = ""
    inner_quirks: tuple[str, ...] = ()

    @property
    def quirk(self) -> str:
        """Everything out of the ordinary about the site, in one word or three."""
        return self.home_quirk or "+".join(self.inner_quirks)

    @property
    def origin(self) -> str:
        return f"http://{self.name.primary}"
