"""The full recorder: a line in the journal for each happening in a world."""

from collections.abc import Callable

from agents.core.codec import Codec
from agents.core.recorder import Recorder
from agents.core.topics import Topics
from testbed.sim.world import World


class FullRecorder(Recorder):
    """Reads times and interests off a world."""

    def __init__(
        self, world: World, topics: Topics, codec: Codec, write: Callable[[bytes], object]
    ) -> None:
        super().__init__(world, world, topics, codec, write)
        self._world = world

    def finish(self) -> None:
        """The tables of the living, as they are at the end."""
        for agent, protocol in enumerate(self._world.protocols):
            if protocol is not None:
                self.tables(agent, protocol.views())
