"""The engine with nothing on it: entries that do no more than put themselves off by a tick."""

from testbed.sim.engine import Engine, Entry


def events(tokens: int = 1_000, ticks: int = 2_000) -> int:
    """Run, and say how many entries were handed over."""
    handed_over = 0

    def bounce(to: int, source: int, body: object) -> None:
        engine.slot(1).append((to, source, body))

    handlers = [bounce] * tokens

    def process(entries: list[Entry]) -> None:
        nonlocal handed_over
        for to, source, body in entries:
            handlers[to](to, source, body)
        handed_over += len(entries)

    engine = Engine(process)
    engine.slot(1).extend((number, -1, None) for number in range(tokens))
    engine.run(ticks, lambda: False)
    return handed_over
