"""How Scrapy finds the benchmark's names: by a resolver of its own, which is a setting of Scrapy's."""
# mypy: ignore-errors

from twisted.internet import defer
from twisted.internet.interfaces import IResolverSimple
from zope.interface import implementer


@implementer(IResolverSimple)
class LoopbackResolver:
    """Every name is this machine; the port is in the addresses."""

    def __init__(self, reactor):
        self.reactor = reactor

    @classmethod
    def from_crawler(cls, crawler, reactor):
        return cls(reactor)

    def install_on_reactor(self):
        self.reactor.installResolver(self)

    def getHostByName(self, name, timeout=()):  # noqa: N802 - Twisted's name for it
        return defer.succeed("127.0.0.1")
