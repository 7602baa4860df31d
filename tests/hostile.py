"""Texts that would act if a page did not show them as text, wherever an agent can put one."""

from __future__ import annotations

import re
from collections.abc import Callable

import scene
from actors import Agent
from handoff_memory.app import Local
from handoff_memory.core import names
from handoff_memory.services import planning

TEXTS = (
    "<script>alert(1)</script>",
    "</pre></main><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "javascript:alert(1)",
    "{{ 7*7 }}{% raw %}${7*7}",
    "<!-- --><style>*{display:none}</style>",
    "&lt;b&gt;&amp;amp; &#60;b&#62;",
    "\u202eevil\u202c \u2066iso\u2069 \u200fmark",
    "]]><![CDATA[<b>",
    "<a href='http://evil.example'>click</a>",
    "\\x3cscript\\x3e \x1b[31m \x07 \x7f",
    "نص عربي ثم <b>",
    "\U0001d573🎉" * 20,
)


def play(local: Local, agent: Callable[..., Agent]) -> list[str]:
    """Fill a memory with them; the pages that show them."""
    found = ["/", "/handoffs", "/memory", "/tasks", "/log", "/integrity"]
    for n, text in enumerate(TEXTS):
        name = re.sub(r"[\x00-\x1f\x7f/@]", "·", text).strip()[:100]
        who = agent(names.agent_id(name))
        who.write(f"s {name}/k {name}", {text: [text]}, tags=[name[:60]], source=text)
        who.write(f"s {name}/k {name}", text, source=text)
        who.report(f"s {name}/k {name}", "success", note=text)
        packet = who.create(
            text.replace("\x1b", "").strip(),
            next=[text],
            done=[text],
            open_questions=[text],
            details={"objective": text, "results": {text: [text]}},
            pins=[f"s {name}/k {name}@1"],
            to=name,
        )
        who.pickup(packet["packet_id"], read_back=text)
        task = f"t{n}"
        asked = planning.PlanRequest(
            task=task, objective=text, plan=(text,), decisions=(text,), lesson=text
        )
        local.write(
            lambda tx, who=who, asked=asked: planning.plan(tx, who.who, scene.GOVERNING, asked)
        )
        found += [f"/handoffs/{packet['packet_id']}", f"/tasks/{task}"]
    return found
