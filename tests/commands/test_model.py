"""The runtime against a naive model of it: ten thousand random steps, compared after each."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.commands.shelf import command
from whisk.commands import (
    AVAILABLE,
    Availability,
    CommandRuntime,
    ContributionError,
    ExecutionInput,
    Lease,
    PaletteProjection,
    Projections,
    RuntimeClosedError,
    SlashProjection,
    unavailable,
)

STEPS = 10_000
SOURCES = ["red", "blue"]
NAMESPACES = ["a", "b", "c"]
SCOPES = [None, "w1", "w2"]
NAMES = ["x", "y", "z"]
ALIASES = ["go", "stop", "wait"]


@dataclass(frozen=True)
class Spec:
    """A command as the model sees it."""

    id: str
    alias: str | None
    order: int


@dataclass
class Held:
    source: str
    namespace: str
    scope: str | None
    specs: list[Spec]
    lease: Lease
    live: bool = True


@dataclass
class Model:
    held: list[Held] = field(default_factory=list)
    off: set[str] = field(default_factory=set)
    closed: bool = False

    def live(self, but: Held | None = None) -> list[Held]:
        return [each for each in self.held if each.live and each is not but]

    def admits(self, source: str, namespace: str, scope: str | None, specs: list[Spec], but: Held | None) -> bool:
        ids = [spec.id for spec in specs]
        aliases = [spec.alias for spec in specs if spec.alias]
        if len(set(ids)) < len(ids) or len(set(aliases)) < len(aliases):
            return False
        if any(not id.startswith(f"{namespace}.") for id in ids):
            return False
        for other in self.live(but):
            if other.namespace == namespace and other.source != source:
                return False
            if {spec.id for spec in other.specs} & set(ids):
                return False
            if other.scope == scope and {spec.alias for spec in other.specs if spec.alias} & set(aliases):
                return False
        return True

    def palette(self) -> list[tuple[str, bool]]:
        specs = [spec for each in self.live() for spec in each.specs]
        return [(spec.id, spec.id not in self.off) for spec in sorted(specs, key=lambda one: (one.order, one.id))]

    def slash(self) -> list[tuple[str, str, str | None]]:
        rows = [(spec, each.scope) for each in self.live() for spec in each.specs if spec.alias]
        return [(spec.id, str(spec.alias), scope) for spec, scope in sorted(rows, key=lambda row: row[0].id)]


class Machine:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.model = Model()
        self.runtime = CommandRuntime()
        self.told = 0
        self.runtime.subscribe(self.listen)

    def listen(self) -> None:
        self.told += 1

    def specs(self, namespace: str) -> list[Spec]:
        chance = self.chance
        count = chance.choice([0, 1, 1, 2, 3])
        return [
            Spec(
                id=f"{namespace if chance.random() < 0.95 else 'a'}.{chance.choice(NAMES)}",
                alias=chance.choice([None, None, *ALIASES]),
                order=chance.choice([0, 0, 1]),
            )
            for _ in range(count)
        ]

    def commands(self, specs: list[Spec]) -> list[Any]:
        def reader(id: str) -> Any:
            def read() -> Availability:
                return unavailable("off") if id in self.model.off else AVAILABLE

            return read

        return [
            command(
                spec.id,
                lambda input: input.arguments,
                projections=Projections(
                    palette=PaletteProjection(order=spec.order),
                    slash=(SlashProjection(alias=spec.alias),) if spec.alias else (),
                ),
                availability=reader(spec.id),
            )
            for spec in specs
        ]

    def step(self) -> None:
        chance = self.chance
        kind = chance.choices(
            ["contribute", "update", "dispose", "flip", "execute", "close"], [30, 20, 25, 15, 9, 0.15]
        )
        getattr(self, kind[0])()

    def contribute(self) -> None:
        model, chance = self.model, self.chance
        source, namespace, scope = chance.choice(SOURCES), chance.choice(NAMESPACES), chance.choice(SCOPES)
        specs = self.specs(namespace)
        # An id outside its namespace or a double is a fault of the contribution itself, also of a closed runtime.
        alone = Model().admits(source, namespace, scope, specs, None)
        try:
            lease = self.runtime.contribute(source, namespace, self.commands(specs), scope)
        except RuntimeClosedError:
            assert model.closed
            assert alone
            return
        except ContributionError:
            assert not alone or (not model.closed and not model.admits(source, namespace, scope, specs, None))
            return
        assert not model.closed
        assert model.admits(source, namespace, scope, specs, None)
        model.held.append(Held(source, namespace, scope, specs, lease))

    def update(self) -> None:
        if not self.model.held:
            return
        held = self.chance.choice(self.model.held)
        specs = self.specs(held.namespace)
        fits = self.model.admits(held.source, held.namespace, held.scope, specs, held)
        try:
            done = held.lease.update(self.commands(specs))
        except ContributionError:
            assert held.live
            assert not fits
            return
        assert done == held.live
        if done:
            assert fits
            held.specs = specs

    def dispose(self) -> None:
        if self.model.held:
            held = self.chance.choice(self.model.held)
            assert held.lease.dispose() == held.live
            held.live = False
            if self.chance.random() < 0.5:
                self.model.held.remove(held)

    def flip(self) -> None:
        self.model.off ^= {f"{self.chance.choice(NAMESPACES)}.{self.chance.choice(NAMES)}"}

    def execute(self) -> None:
        id = self.chance.choice(["", *(f"{n}.{name}" for n in NAMESPACES for name in NAMES)])
        outcome = self.runtime.execute(id, ExecutionInput("agent", [id]))
        live = {spec.id for each in self.model.live() for spec in each.specs}
        wanted = (
            "Closed"
            if self.model.closed
            else "Invalid"
            if not id
            else "Missing"
            if id not in live
            else "Unavailable"
            if id in self.model.off
            else "Handled"
        )
        assert type(outcome).__name__ == wanted

    def close(self) -> None:
        self.runtime.close()
        self.model.closed = True
        for held in self.model.held:
            held.live = False

    def check(self) -> None:
        shown = self.runtime.snapshot()
        assert [(row.command_id, row.available) for row in shown.palette] == self.model.palette()
        assert [(row.command_id, row.alias, row.scope) for row in shown.slash] == self.model.slash()
        assert self.runtime.snapshot() is shown


@pytest.mark.parametrize("seed", range(4))
def test_the_runtime_is_its_model(seed: int) -> None:
    machine = Machine(seed)
    for _ in range(STEPS // 4):
        machine.step()
        machine.check()
        if machine.model.closed and machine.chance.random() < 0.1:
            machine = Machine(machine.chance.randrange(2**32))
