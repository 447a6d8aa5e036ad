"""The guard's forward proxy: the only way out for browsers, whose requests could not be checked one by one.

A browser that we start must be set up to use it for everything: Chromium contacts its own machine without
any proxy unless it is started with `--proxy-bypass-list=<-loopback>`, and sends UDP past it for WebRTC
unless it is started with `--force-webrtc-ip-handling-policy=disable_non_proxied_udp`.
"""

from gossamer.fetch.forward_proxy.proxy import ForwardProxy, Listen, Permit, ProxyLimits

__all__ = ["ForwardProxy", "Listen", "Permit", "ProxyLimits"]
