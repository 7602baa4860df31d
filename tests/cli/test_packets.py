from __future__ import annotations

import json
from collections.abc import Callable

from shell import Shell

HandOver = Callable[..., str]


def test_looking_at_what_waits_changes_nothing(shell: Shell, hand_over: HandOver) -> None:
    packet_id = hand_over()

    first, second = shell.json("pickup", "--peek"), shell.json("pickup", "--peek")

    assert first["packet"]["packet_id"] == packet_id
    assert second["packet"]["state"] == "waiting"
    assert "token" not in second


def test_a_pickup_claims_and_the_same_agent_resumes_in_its_next_session(
    shell: Shell, hand_over: HandOver
) -> None:
    packet_id = hand_over()

    first, again = shell.json("pickup"), shell.json("pickup")

    assert first["packet"]["packet_id"] == packet_id
    assert again["resumed"] is True
    assert again["token"] > first["token"]


def test_a_packet_that_somebody_else_holds_is_refused(shell: Shell, hand_over: HandOver) -> None:
    packet_id = hand_over()
    shell.json("pickup")

    result = shell("pickup", packet_id, "--json", AGENT_ID="grace")

    assert result.exit_code == 2
    assert json.loads(result.stdout)["code"] == "already_claimed"


def test_a_pickup_shows_the_pins_as_pinned_and_what_is_stale(
    shell: Shell, hand_over: HandOver
) -> None:
    shell.json("write", "listing/553/assessment", '"yes"', "--tag", "pinned")
    hand_over(pins=["listing/553/assessment"], open_questions=["is 60 s enough?"])
    shell.json("write", "listing/553/assessment", '"maybe"', "--source", "budget cut")

    text = shell("pickup").stdout

    assert "next: > draft the application" in text
    assert "open: ? is 60 s enough?" in text
    assert "listing/553/assessment@1  superseded: version 2 is current" in text
    assert "  yes" in text
    assert "stale: listing/553/assessment was pinned at v1, now at v2, by ada" in text
    assert "budget cut" in text
    assert "1 of 1 pins moved" in text
    assert "claimed, token" in text


def test_nothing_waiting_is_no_error(shell: Shell) -> None:
    result = shell("pickup")

    assert (result.exit_code, result.stdout) == (0, "nothing waits for you\n")


def test_reading_back_is_kept_with_the_claim(shell: Shell, hand_over: HandOver) -> None:
    hand_over()

    shell.json("pickup", "--read-back", "apply to listing 482")

    assert "apply to listing 482" in shell("pickup", "--peek").stdout


def test_peeking_takes_nothing_that_would_change_a_claim(shell: Shell) -> None:
    assert shell("pickup", "--peek", "--read-back", "x").exit_code == 2


def test_the_newest_packets_come_first_a_line_each(shell: Shell, hand_over: HandOver) -> None:
    older, newer = hand_over("the older one"), hand_over("the newer one", priority="urgent")

    lines = shell("handoffs").stdout.splitlines()

    assert [line.split()[0] for line in lines] == [newer, older]
    assert "[urgent] the newer one" in lines[0]
    assert "scout -> anyone" in lines[0]
    assert [item["packet_id"] for item in shell.json("handoffs", "--limit", "1")["packets"]] == [
        newer
    ]


def test_no_packets_at_all_is_said(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    assert shell("handoffs").stdout == "no packets\n"


def test_a_thread_is_read_whole_with_what_happened(shell: Shell, hand_over: HandOver) -> None:
    packet_id = hand_over(details={"objective": "win a job"})
    shell.json("pickup")
    answer = hand_over("a remark", in_reply_to=packet_id)

    thread, text = shell.json("thread", answer), shell("thread", packet_id).stdout

    assert [item["packet_id"] for item in thread["packets"]] == [packet_id, answer]
    assert "claimed by ada" in text
    assert f"in reply to {packet_id}" in text
    assert "win a job" in text


def test_a_thread_of_no_packet_is_an_error(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    assert shell("thread", "h_00000000").exit_code == 2


def test_what_waits_is_told_in_every_reply(shell: Shell, hand_over: HandOver) -> None:
    hand_over()

    assert shell.json("write", "s/k", "1")["waiting"] == 1
    assert shell.json("stats")["waiting"] == 1
