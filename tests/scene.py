"""A memory with something of everything: for the tests of the dashboard, and for its pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors import Agent
from handoff_memory.app import Local
from handoff_memory.core.author import Author
from handoff_memory.services import checkpointing, guarding, observing, planning, sealing, tasks
from handoff_memory.services.limits import Governing, Limits
from processes import big

GOVERNING = Governing(Limits())
TASK = "checkout-tests"
PLAN = (
    "Reproduce the failing checkout test",
    "Find what changed in the cart's rounding",
    "Mend it without touching the tests",
    "Run the whole suite and commit",
)


def play(local: Local, agent: Callable[..., Agent]) -> dict[str, str]:
    """Agents write, doubt, hand over and work at a task; the ids of what they left."""
    researcher, builder = agent("researcher"), agent("builder")
    _believe(researcher, builder)
    ids = _hand_over(researcher, builder)
    _work(local, builder.who)
    return ids


def _believe(researcher: Agent, builder: Agent) -> None:
    cart = "service/cart/rounding"
    researcher.write(cart, {"mode": "half_even", "places": 2}, confidence_share=0.6, tags=["cart"])
    builder.report(cart, "failure", note="totals differ by a cent from the invoice")
    researcher.write(
        cart,
        {"mode": "half_up", "places": 2, "since": "release 41"},
        confidence_share=0.7,
        tags=["cart", "billing"],
        source="git log of billing/rounding.py",
    )
    builder.report(cart, "success", note="three invoices agree")
    builder.report(cart, "partial")
    researcher.write("service/cart/owner", "team checkout", confidence_share=0.9)
    researcher.write("service/billing/limits", {"requests_per_minute": 120, "burst": 20})
    builder.write("note/日本語", "請求書の端数は四捨五入する")


def _hand_over(researcher: Agent, builder: Agent) -> dict[str, str]:
    told = researcher.create(
        "Rounding of the cart is understood; the fix is not made",
        next=["Mend billing/rounding.py", "Run the suite"],
        done=["Read the history of billing/rounding.py"],
        open_questions=["Does the invoice service round as well?"],
        pins=["service/cart/rounding", "service/billing/limits"],
        priority="high",
        to="builder",
        details={"severity": "watch", "objective": "Totals and invoices agree to the cent"},
    )
    waiting = researcher.create("Look whether the nightly report rounds alike")
    builder.pickup(told["packet_id"])
    researcher.write("service/billing/limits", {"requests_per_minute": 60, "burst": 20})
    closed = researcher.create("Say who owns the cart", to="builder", next=["ask"])
    builder.pickup(closed["packet_id"])
    back = builder.hand_back(closed["packet_id"], "done")
    return {
        "claimed": told["packet_id"],
        "waiting": waiting["packet_id"],
        "closed": closed["packet_id"],
        "reply": back["packet_id"],
    }


def _work(local: Local, who: Author) -> None:
    asked = planning.PlanRequest(
        task=TASK,
        objective="Make the checkout tests pass without changing what they ask for",
        plan=PLAN,
        constraints=("Never edit tests/**",),
        budget={"tokens": 120_000, "calls": 60},
    )
    local.write(lambda tx: planning.plan(tx, who, GOVERNING, asked))
    for name in ("checkout", "cart", "invoice"):
        saw(local, who, "Bash", {"command": f"pytest tests/{name}"}, big(name))
        delivered(local, who, "Read", {"file_path": f"billing/{name}.py"}, big(f"{name} code", 400))
    for _ in range(3):
        saw(local, who, "Bash", {"command": "make lint"}, error="ruff: not found")
    local.write(lambda tx: planning.plan(tx, who, GOVERNING, planning.PlanRequest(step=1)))
    decided = planning.PlanRequest(decisions=("Round half up, as the invoice does",))
    local.write(lambda tx: planning.plan(tx, who, GOVERNING, decided))
    learned = planning.PlanRequest(lesson="ruff is only there inside the virtual environment")
    local.write(lambda tx: planning.plan(tx, who, GOVERNING, learned))
    local.write(lambda tx: _events(tx, who))


def _events(tx: Any, who: Author) -> None:
    limits = GOVERNING.limits
    task = tasks.get(tx, who, TASK)
    told = {"window": 200_000, "used": 74_000}
    task = tasks.happened(tx, who, limits, task, "pressure", told)
    head = {"sha256": "0" * 64, "tokens": 9_200}
    task = tasks.happened(tx, who, limits, task, "head", head)
    reason = {"tool": "Bash", "args": "{}", "reason": "ruff was installed meanwhile"}
    task = tasks.happened(tx, who, limits, task, "overridden", reason)
    task = sealing.marked(tx, who, GOVERNING, task)
    guarding.gap(tx, who, GOVERNING, "the hook took longer than its deadline", task_id=TASK)


def saw(
    local: Local,
    who: Author,
    tool: str,
    args: dict[str, Any],
    text: str | bytes = "",
    error: str | None = None,
) -> Any:
    """An agent reports a call."""
    data = text.encode() if isinstance(text, str) else text
    seen = observing.see(GOVERNING.limits, tool, args, data=data or None, error=error)
    return local.write(lambda tx: observing.observe(tx, who, GOVERNING, seen, task_id=TASK))


def delivered(local: Local, who: Author, tool: str, args: dict[str, Any], text: str) -> Any:
    """A hook hands over a result, and a stub enters the prompt in its place."""
    seen = observing.see(GOVERNING.limits, tool, args, data=text.encode())
    given = guarding.Delivery("main", outline=text.splitlines()[:3], lines=text.count("\n"))
    return local.write(
        lambda tx: guarding.after(tx, who, GOVERNING, seen, given, 400, task_id=TASK)
    )


def finished(local: Local, who: Author) -> None:
    """The task ends."""
    local.write(lambda tx: checkpointing.finish(tx, who, GOVERNING, task_id=TASK))
