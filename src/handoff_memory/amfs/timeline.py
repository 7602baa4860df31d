"""Agents as they declare themselves, and their timelines."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from amfs_core.models import Agent, AgentCapability, AgentProfile, Event, MemoryContract

from handoff_memory.amfs.base import Base, first, model, window
from handoff_memory.amfs.connections import promised
from handoff_memory.amfs.entries import moment
from handoff_memory.services import amfs as service
from handoff_memory.store import amfs as rows
from handoff_memory.store.amfs import Window
from handoff_memory.store.engine import Tx

_DEFAULT: Final = service.NAMESPACE


class Timeline(Base):
    """The part of the adapter that knows agents and what they did, and when."""

    def ensure_agent(self, agent_id: str, namespace: str = _DEFAULT) -> Agent:
        """The agent as it is known, registered where it was not."""
        known = self.get_agent(agent_id, namespace)
        return known or self._update_agent(agent_id, namespace, {})

    def get_agent(self, agent_id: str, namespace: str = _DEFAULT) -> Agent | None:
        """A registered agent, or None."""
        with promised():
            return self._connections.read(lambda tx: self._agent(tx, agent_id, namespace))

    def list_agents(self, namespace: str = _DEFAULT) -> list[Agent]:
        """Registered agents by their ids."""

        def found(tx: Tx) -> list[Agent]:
            kept = rows.documents(tx, self._place(namespace=namespace), "agent", Window())
            ids = sorted({str(row["name"]) for row in kept})
            return [agent for name in ids if (agent := self._agent(tx, name, namespace))]

        with promised():
            return self._connections.read(found)

    def update_agent_profile(
        self, agent_id: str, profile: AgentProfile, namespace: str = _DEFAULT
    ) -> Agent:
        """Set what an agent says of its role."""
        return self._update_agent(agent_id, namespace, {"profile": profile})

    def update_agent_capabilities(
        self, agent_id: str, capabilities: list[AgentCapability], namespace: str = _DEFAULT
    ) -> Agent:
        """Set what an agent says it can do."""
        return self._update_agent(agent_id, namespace, {"capabilities": capabilities})

    def update_agent_contracts(
        self, agent_id: str, contracts: list[MemoryContract], namespace: str = _DEFAULT
    ) -> Agent:
        """Set what an agent promises of its entries."""
        return self._update_agent(agent_id, namespace, {"contracts": contracts})

    def _agent(self, tx: Tx, agent_id: str, namespace: str) -> Agent | None:
        return first(Agent, rows.named(tx, self._place(namespace=namespace), "agent", agent_id))

    def _update_agent(self, agent_id: str, namespace: str, said: dict[str, Any]) -> Agent:
        with promised():
            who = self._author(agent_id, None)

            def update(tx: Tx) -> Agent:
                now = moment(tx.now)
                known = self._agent(tx, agent_id, namespace) or Agent(
                    id=self._minted(), agent_id=agent_id, namespace=namespace, created_at=now
                )
                agent = known.model_copy(update={**said, "last_active_at": now})
                place = self._place(namespace=namespace)
                body = agent.model_dump(mode="json")
                self._keep(tx, who, place, "agent", agent_id, now, body)
                return agent

            return self._connections.write(update)

    def log_event(self, event: Event) -> Event:
        """Put an event on its agent's timeline, a little later; it gets an id where it has none."""
        event = event if event.id else event.model_copy(update={"id": self._minted()})
        with promised():
            self._tallies.happened(event)
        return event

    def list_events(  # noqa: PLR0913 - the SDK's signature
        self,
        agent_id: str,
        namespace: str = _DEFAULT,
        *,
        branch: str | None = None,
        event_type: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        until: datetime | None = None,
    ) -> list[Event]:
        """Events of an agent, newest first; with a cursor those older than what it names."""
        with promised():
            self._tallies.flush()
            kept = self._connections.read(
                lambda tx: rows.events(
                    tx,
                    self._place(namespace=namespace),
                    agent_id,
                    window(since=since, until=until, cursor=cursor),
                    branch=branch,
                    kind=event_type,
                    limit=limit,
                    offset=0 if cursor else offset,
                )
            )
            return [model(Event, row["body"]) for row in kept]

    def get_event(self, event_id: str, namespace: str = _DEFAULT) -> Event | None:
        """The event with that id, or None."""
        with promised():
            self._tallies.flush()
            place = self._place(namespace=namespace)
            kept = self._connections.read(lambda tx: rows.event(tx, place, event_id))
            return model(Event, kept["body"]) if kept else None
