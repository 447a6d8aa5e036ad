"""Best-effort news for whoever watches."""

from gossamer.bus.seam import Bus, Message, Subscription

__all__ = ["Bus", "Message", "Subscription"]
