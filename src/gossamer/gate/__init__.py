"""The shared traffic lights: spacing per domain, slots with holders, circuit breakers."""

from gossamer.gate.breakers import Breakers
from gossamer.gate.seam import NOW, Gate, Places, pass_gate

__all__ = ["NOW", "Breakers", "Gate", "Places", "pass_gate"]
