"""Doors that speak as other products do, so that programs can move by changing an address. Each builds our requests."""
