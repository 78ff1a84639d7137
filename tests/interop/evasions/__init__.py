"""Ways past a sensor, each a flow in a capture that its receiver takes as if nothing were odd."""
