"""Settings all tests share."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile(
    "default", deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate), derandomize=True
)
settings.load_profile("default")
