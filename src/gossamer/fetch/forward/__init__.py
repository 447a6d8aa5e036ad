"""The guard's forward proxy: the only way out for browsers, whose requests nobody else could check one by one."""

from gossamer.fetch.forward.proxy import ForwardProxy, Listen
from gossamer.fetch.forward.ways import ProxyLimits, Way

__all__ = ["ForwardProxy", "Listen", "ProxyLimits", "Way"]
