"""What the learning of a distribution asks of the engine, and the proof of what it promises."""
