"""What can be known of a service: how it is written down, and how it is asked for.

Nothing here looks at how the search ranks. Each kind has questions for the first seed and others
for the held-out one, written as a person or a model would ask, with words that stand in no record.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """One attribute of services.

    Attributes:
        key: Key of its record, where the agent named it well.
        statements: How agents write it down; `{s}` is the service, `{v}` the value.
        value: Draws one.
        words: A query of few words.
        asks: Questions: the first half for one seed, the second for the held-out one.
        foreign: A word that fits and stands in no statement.
        expires_days: How long it holds at most, or None.
    """

    key: str
    statements: tuple[str, ...]
    value: Callable[[Random], str]
    words: str
    asks: tuple[str, str, str, str]
    foreign: str
    expires_days: int | None = None


def _one_of(text: str) -> Callable[[Random], str]:
    choices = text.split("|")
    return lambda chance: chance.choice(choices)


def _number(low: int, high: int, step: int = 1, unit: str = "") -> Callable[[Random], str]:
    return lambda chance: f"{chance.randrange(low, high, step)}{unit}"


KINDS: Final = (
    Kind(
        "http-port",
        (
            "{s} listens on port {v}.",
            "The HTTP port of {s} is {v}",
            "{s}: service port {v}, probes included",
        ),
        _number(3000, 9999),
        "{s} port",
        (
            "what port does {s} listen on?",
            "which port do I need to reach {s}",
            "On which port is {s} running now?",
            "I want to curl {s} locally, what is its port",
        ),
        "curl",
    ),
    Kind(
        "db-pool",
        (
            "The connection pool of {s} holds {v} connections at most.",
            "{s} opens up to {v} database connections in its pool",
        ),
        _number(5, 120),
        "{s} connection pool",
        (
            "how large is the connection pool of {s}?",
            "how many database connections can {s} open",
            "What is the maximum pool size for {s}?",
            "does {s} have enough connections in the pool",
        ),
        "hikari",
    ),
    Kind(
        "owner",
        (
            "{s} is owned by team {v}.",
            "Owner of {s}: team {v}; ask them before changing the API",
        ),
        _one_of("Albatross|Basalt|Cobalt|Driftwood|Ember|Falcon|Granite|Heron|Indigo|Juniper"),
        "{s} owner team",
        (
            "who owns {s}?",
            "which team is the owner of {s}",
            "Who is responsible for {s}, which team?",
            "what team should review a change to {s}",
        ),
        "maintainer",
    ),
    Kind(
        "request-timeout",
        (
            "Requests to {s} time out after {v}.",
            "{s} gives up on a request after {v} (client timeout)",
        ),
        _number(200, 9000, 100, " ms"),
        "{s} request timeout",
        (
            "after how long do requests to {s} time out?",
            "what is the request timeout of {s}",
            "How long should a client wait for a request to {s}?",
            "why does my request to {s} time out",
        ),
        "deadline",
    ),
    Kind(
        "retry-policy",
        (
            "{s} retries a failed call {v} times with exponential backoff.",
            "Retry policy of {s}: {v} attempts, then the dead letter queue",
        ),
        _number(1, 12),
        "{s} retry attempts",
        (
            "how often does {s} retry a failed call?",
            "what does {s} do about retries",
            "How many retries are allowed in {s} before it gives up?",
            "is there a retry policy for {s}",
        ),
        "jitter",
    ),
    Kind(
        "runtime",
        ("{s} runs on {v}.", "Runtime of {s}: {v}, pinned in the image"),
        _one_of("Python 3.12|Python 3.13|Node 22|Node 24|Go 1.24|JDK 21|JDK 25|Ruby 3.4|.NET 9"),
        "{s} runtime",
        (
            "what runtime does {s} use?",
            "which language version does {s} run on",
            "On what does {s} run, which runtime?",
            "can I use a newer runtime for {s}",
        ),
        "interpreter",
    ),
    Kind(
        "primary-region",
        (
            "The primary region of {s} is {v}.",
            "{s} is served from {v}; the other regions are standby",
        ),
        _one_of("eu-west-1|eu-central-1|us-east-1|us-west-2|ap-south-1|ap-northeast-1|sa-east-1"),
        "{s} primary region",
        (
            "in which region does {s} run?",
            "what is the primary region for {s}",
            "Where is {s} hosted, which region?",
            "from which region is {s} served to customers",
        ),
        "datacenter",
    ),
    Kind(
        "deploy-command",
        (
            "Deploy {s} with `{v}`.",
            "To release {s}, run `{v}` from the repository root",
        ),
        _one_of(
            "make ship|./scripts/release.sh --canary|helm upgrade --atomic|just deploy prod|"
            "argo app sync|fly deploy --strategy rolling|bazel run //deploy:prod"
        ),
        "{s} deploy",
        (
            "how do I deploy {s}?",
            "what is the command to deploy {s}",
            "How can {s} be released or deployed to production?",
            "which command must I run to deploy or release {s}",
        ),
        "spinnaker",
    ),
    Kind(
        "log-retention",
        ("Logs of {s} are kept for {v}.", "{s} log retention: {v}, then deleted"),
        _number(3, 400, 1, " days"),
        "{s} logs kept",
        (
            "how long are the logs of {s} kept?",
            "what is the log retention for {s}",
            "For how many days do we keep logs from {s}?",
            "are {s} logs older than a month still there",
        ),
        "kibana",
    ),
    Kind(
        "rate-limit",
        (
            "{s} allows {v} requests per minute for each tenant.",
            "Rate limit of {s}: {v} per minute and tenant, then 429",
        ),
        _number(60, 6000, 20),
        "{s} requests per minute",
        (
            "how many requests per minute does {s} allow?",
            "what is the limit per tenant in {s}",
            "When does {s} start to reject requests per minute?",
            "how many requests may a tenant send to {s}",
        ),
        "throttle",
    ),
    Kind(
        "cache-ttl",
        ("{s} caches responses for {v}.", "Cache TTL in {s} is {v}; purge by tag"),
        _number(5, 900, 5, " seconds"),
        "{s} cache",
        (
            "how long does {s} cache responses?",
            "what is the TTL of the cache in {s}",
            "Does {s} cache what it returns, and how long?",
            "how stale may a cached answer of {s} be",
        ),
        "memcached",
    ),
    Kind(
        "input-queue",
        ("{s} consumes messages from the queue {v}.", "Input queue of {s}: {v} (FIFO)"),
        lambda chance: f"{chance.choice('qmst')}-{chance.randrange(16**4):04x}.events",
        "{s} queue",
        (
            "which queue does {s} consume?",
            "where do the messages for {s} come from, which queue",
            "What is the name of the input queue of {s}?",
            "to which queue must I publish messages so that {s} sees them",
        ),
        "kafka",
    ),
    Kind(
        "memory-limit",
        ("The memory limit of {s} is {v}.", "{s} is killed above {v} of memory"),
        _number(256, 8192, 128, " MiB"),
        "{s} memory limit",
        (
            "what is the memory limit of {s}?",
            "how much memory may {s} use",
            "Above how much memory is {s} killed?",
            "how much memory does {s} get in the cluster",
        ),
        "cgroup",
    ),
    Kind(
        "replicas",
        ("{s} runs with {v} replicas.", "Replicas of {s} in production: {v}"),
        _number(2, 40),
        "{s} replicas",
        (
            "how many replicas does {s} have?",
            "with how many replicas is {s} run",
            "What is the number of replicas of {s} in production?",
            "is {s} scaled to enough replicas",
        ),
        "autoscaler",
    ),
    Kind(
        "health-endpoint",
        ("Health of {s} is answered at {v}.", "{s} health check: GET {v}, 200 when ready"),
        _one_of("/healthz|/livez|/status/ready|/internal/ping|/-/healthy|/actuator/health"),
        "{s} health",
        (
            "where can I check the health of {s}?",
            "what is the health endpoint of {s}",
            "Which URL tells whether {s} is healthy?",
            "how is the health of {s} checked",
        ),
        "liveness",
    ),
    Kind(
        "storage-decision",
        (
            "We keep the rows of {s} in {v}, because transactions matter more than scale there.",
            "Decision: {s} stores its data in {v}",
        ),
        _one_of("PostgreSQL|MySQL|DynamoDB|Cassandra|CockroachDB|SQLite|MongoDB|ScyllaDB"),
        "{s} stores rows data",
        (
            "where does {s} store its data?",
            "what was the decision about the storage of {s}",
            "In which database does {s} keep rows or data?",
            "what does {s} store its rows in",
        ),
        "datastore",
    ),
    Kind(
        "on-call",
        ("{v} is on call for {s} this week.", "On call for {s}: {v}, page before 22:00"),
        _one_of("Amara|Bilal|Chiara|Dmitri|Eun-ji|Farah|Goran|Hana|Ines|Jakub|Kofi|Leila|Mateo"),
        "{s} on call",
        (
            "who is on call for {s}?",
            "whom do I call when {s} is down this week",
            "Who can be called about {s} at night this week?",
            "who has the on-call duty of {s}",
        ),
        "pagerduty",
        7,
    ),
    Kind(
        "change-freeze",
        (
            "No deploys of {s} until the freeze ends: {v}.",
            "Change freeze on {s} because of {v}",
        ),
        _one_of("quarterly close|audit|peak season|data migration|contract renewal|tax filing"),
        "{s} freeze",
        (
            "is there a change freeze on {s}?",
            "why is {s} frozen",
            "Am I allowed to deploy {s} or is there a freeze?",
            "when does the freeze of {s} end",
        ),
        "embargo",
        14,
    ),
)
