"""The shared traffic lights: spacing per domain, places with holders."""

from gossamer.gate.seam import NOW, Gate, Places, pass_gate

__all__ = ["NOW", "Gate", "Places", "pass_gate"]
