"""Synthetic secrets, and texts that only resemble them; shared by every test that must lose none.

No secret is written out: each is put together at run time, so that no scanner trips on this file.
All are made up, and open nothing.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from string import ascii_letters, digits


@dataclass(frozen=True, slots=True)
class Canary:
    """A text that holds a secret.

    Attributes:
        kind: What `redact` calls it.
        secret: The part that must be nowhere afterwards.
        text: The secret with what makes it recognisable (a name, a URL); often the secret itself.
    """

    kind: str
    secret: str
    text: str


def _draw(name: str, length: int, alphabet: str = ascii_letters + digits) -> str:
    """Characters that look drawn at random and are the same in each run."""
    drawn = hashlib.shake_256(name.encode()).digest(length)
    return "".join(alphabet[byte % len(alphabet)] for byte in drawn)


HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits
URLSAFE = ascii_letters + digits + "_-"

# kind, the parts of the prefix, how many characters follow, from which alphabet
_PREFIXED: tuple[tuple[str, str, int, str], ...] = (
    ("age-key", "AGE-SECRET" + "-KEY-1", 58, UPPER),
    ("anthropic-key", "sk-" + "ant-api03-", 95, URLSAFE),
    ("atlassian-token", "ATAT" + "T3xFfGF0", 180, URLSAFE),
    ("aws-access-key", "AK" + "IA", 16, UPPER),
    ("aws-access-key", "AS" + "IA", 16, UPPER),
    ("azure-secret", "aB3" + "8Q~", 34, ascii_letters),
    ("databricks-token", "da" + "pi", 32, HEX),
    ("digitalocean-token", "dop" + "_v1_", 64, HEX),
    ("docker-token", "dckr" + "_pat_", 27, URLSAFE),
    ("doppler-token", "dp." + "pt.", 43, ascii_letters),
    ("gcp-api-key", "AI" + "za", 35, URLSAFE),
    ("github-token", "gh" + "p_", 36, ascii_letters + digits),
    ("github-token", "gh" + "o_", 36, ascii_letters + digits),
    ("github-token", "gh" + "u_", 36, ascii_letters + digits),
    ("github-token", "gh" + "s_", 36, ascii_letters + digits),
    ("github-token", "gh" + "r_", 76, ascii_letters + digits),
    ("github-token", "github" + "_pat_", 82, ascii_letters + digits + "_"),
    ("gitlab-token", "gl" + "pat-", 20, URLSAFE),
    ("google-oauth", "ya" + "29.", 60, URLSAFE),
    ("google-oauth", "GOC" + "SPX-", 28, URLSAFE),
    ("google-oauth", "1/" + "/0", 60, URLSAFE),
    ("grafana-token", "gl" + "sa_", 41, ascii_letters + digits),
    ("groq-key", "gs" + "k_", 52, ascii_letters + digits),
    ("heroku-key", "HR" + "KU-", 60, ascii_letters + digits),
    ("huggingface-token", "h" + "f_", 34, ascii_letters),
    ("linear-key", "lin" + "_api_", 40, ascii_letters + digits),
    ("mailgun-key", "ke" + "y-", 32, HEX),
    ("newrelic-key", "NR" + "AK-", 27, UPPER),
    ("notion-token", "nt" + "n_", 46, ascii_letters + digits),
    ("notion-token", "sec" + "ret_", 43, ascii_letters + digits),
    ("npm-token", "np" + "m_", 36, ascii_letters + digits),
    ("openai-key", "s" + "k-", 48, ascii_letters + digits),
    ("openai-key", "sk-" + "proj-", 120, URLSAFE),
    ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc", 120, URLSAFE),
    ("replicate-token", "r" + "8_", 37, ascii_letters + digits),
    ("sentry-token", "snt" + "rys_eyJ", 90, ascii_letters + digits),
    ("shopify-token", "shp" + "at_", 32, HEX),
    ("slack-token", "xo" + "xb-123456789012-", 36, ascii_letters + digits),
    ("slack-token", "xa" + "pp-1-A01-", 64, HEX),
    ("stripe-key", "sk" + "_live_", 24, ascii_letters + digits),
    ("stripe-key", "rk" + "_test_", 24, ascii_letters + digits),
    ("stripe-key", "wh" + "sec_", 32, ascii_letters + digits),
    ("supabase-key", "sb" + "p_", 40, HEX),
    ("supabase-key", "sb" + "_secret_", 31, URLSAFE),
    ("tailscale-key", "ts" + "key-auth-", 32, ascii_letters + digits),
    ("twilio-key", "S" + "K", 32, HEX),
    ("vault-token", "hv" + "s.", 90, ascii_letters + digits),
    ("xai-key", "xa" + "i-", 80, ascii_letters + digits),
)


def _bare(kind: str, *parts: str) -> Canary:
    secret = "".join(parts)
    return Canary(kind, secret, secret)


def _in(kind: str, before: str, secret: str, after: str = "") -> Canary:
    return Canary(kind, secret, f"{before}{secret}{after}")


def _jwt() -> str:
    def part(value: dict[str, str]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    header, claims = part({"alg": "HS256", "typ": "JWT"}), part({"sub": "42", "name": "Ada"})
    return f"{header}.{claims}.{_draw('jwt', 43, URLSAFE)}"


def pem(label: str, newline: str = "\n", *, ended: bool = True) -> str:
    """A private key block of random characters."""
    lines = [_draw(f"{label}{number}", 64) for number in range(6)] + [_draw(label, 9) + "="]
    dashes = "-" * 5
    ending = [f"{dashes}END {label}{dashes}"] if ended else []
    return newline.join([f"{dashes}BEGIN {label}{dashes}", *lines, *ending])


def _made() -> list[Canary]:
    """One canary for each form that is more than a prefix."""
    key, rsa = "PRIVATE " + "KEY", "RSA PRIVATE " + "KEY"
    aws, azure, short = _draw("aws", 40), _draw("azure", 86), _draw("short", 20)
    uuid = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    return [
        _bare("cloudflare-key", "v1" + ".0-", _draw("c", 24, HEX), "-", _draw("f", 146, HEX)),
        _bare("postman-key", "PM" + "AK-", _draw("p", 24, HEX), "-", _draw("m", 34, HEX)),
        _bare("sendgrid-key", "S" + "G.", _draw("s", 22, URLSAFE), ".", _draw("g", 43, URLSAFE)),
        _in("discord-token", "MTIzNDU2Nzg5MDEyMzQ1Njc4.", f"G{short[:5]}.{_draw('d', 38)}"),
        _in(
            "discord-webhook", "https://discord.com/api/webhooks/12345678901234567/", _draw("w", 68)
        ),
        _in("slack-webhook", "https://hooks.slack" + ".com/services/", f"T0ABC/B0DEF/{short}"),
        _in("telegram-token", "123456789:", "AA" + _draw("telegram", 33, URLSAFE)),
        _bare("jwt", _jwt()),
        _bare("private-key", pem(key)),
        _bare("private-key", pem(rsa)),
        _bare("private-key", pem("EC " + key, "\\n")),
        _bare("private-key", pem("OPENSSH " + key, "\r\n")),
        _bare("private-key", pem("ENCRYPTED " + key, "\n    ")),
        _bare("private-key", pem("PGP " + key + " BLOCK")),
        _bare("private-key", pem(rsa, ended=False)),
        _in("aws-secret-key", "aws_secret_access_key = ", aws[:20] + "/" + aws[21:]),
        _in("azure-key", "AccountName=acme;AccountKey=", azure + "==", ";EndpointSuffix=core.net"),
        _in("azure-sas", "https://acme.blob.net/c?sv=2022&sig=", azure[:43] + "%3D", "&se=2030"),
        _in("url-password", "postgres://ada:", short, "@db.example.org:5432/app"),
        _in("url-password", "redis://:", "p@" + short, "@cache:6379/0"),
        _in("authorization", "Authorization: Bearer ", short),
        _in("authorization", "Authorization: Basic ", base64.b64encode(short.encode()).decode()),
        _in("password", "password=", "hunter" + "2xyz"),
        _in("password", "DB_PASSWORD=", "correct" + "horse!7"),
        _in("password", "Passwd: ", "Tr0ub4dor&3"),
        _in("password", "Server=db;Uid=ada;Pwd=", "x9!kk;q", ";Database=app"),
        _in("password", "SMTP_PASS=", "zebra" + "42"),
        _in("password", "mysql --password ", "hunter" + "2xyz", " -h db"),
        _in("api-key", "HEROKU_API_KEY=", uuid),
        _in("api-key", "X-Api-Key: ", _draw("api", 32, HEX)),
        _in("token", "CLOUDFLARE_API_TOKEN=", _draw("cf", 40, URLSAFE[:62])),
        _in("token", "TWILIO_AUTH_TOKEN=", _draw("tw", 32, HEX)),
        _in("token", "token: ", _draw("token", 24)),
        _in("secret", "client_secret: ", _draw("client", 32)),
        _in("credential", "deploy --token ", _draw("deploy", 28)),
    ]


CANARIES: tuple[Canary, ...] = (
    *(_bare(kind, lead, _draw(kind + lead, n, chars)) for kind, lead, n, chars in _PREFIXED),
    *_made(),
)

_SHA1, _SHA256 = (hashlib.new(name, b"x").hexdigest() for name in ("sha1", "sha256"))

INNOCENT: tuple[str, ...] = (
    "",
    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    f"fixed in {_SHA1[:7]}, see {_SHA1} and {_SHA256}",
    f"sha256:{_SHA256}",
    f"mem://sha256:{_SHA256}",
    f"token: mem://sha256:{_SHA256}",
    f"secret: sha256:{_SHA256}",
    f'{{"commit": "{_SHA1}", "digest": "{_SHA256}", "token": "{_SHA1}"}}',
    "packet h_1f4089bf was claimed at 2026-03-01T12:00:00.123456Z",
    "token = h_1f4089bf",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 3).decode(),
    '{"image": "' + base64.b64encode(hashlib.shake_256(b"image").digest(900)).decode() + '"}',
    "/usr/lib/python3.11/site-packages/handoff_memory/rules/redact.py",
    r"C:\Users\ada\AppData\Local\Temp\build-2026",
    "AbstractSingletonProxyFactoryBeanWithVeryLongName.create_a_very_long_snake_case_identifier()",
    "handoff-memory-mcp 1.2.3-beta.4+build.5678, python>=3.11,<4",
    "token = get_token()",
    "password = getpass.getpass('Password: ')",
    'print("password: " + hint)',
    "def login(user: str, password: str | None = None) -> Token: ...",
    "def read(self, name, pwd=None): ...",
    "if not (user or password): return",
    "self.password = password",
    "client = Client(token=self.token, secret=settings.client_secret)",
    'secret_name: "db-credentials"',
    "the password is stored in vault",
    "token count: 1234567",
    "max_tokens=4096",
    "key=listing/553/assessment",
    'tokenizer = "o200k_base"',
    'next_page_token: "CAUQAA3bX9sK2mQ8vR7t"',
    "password=***",
    "password: <password>",
    "PASSWORD=${DB_PASSWORD}",
    "PASSWORD=$DB_PASSWORD",
    "password: changeme",
    "password=None, token=null, secret=true",
    'password = os.environ["DB_PASSWORD"]',
    "password: {{ vault_password }}",
    "password: ",
    'password = ""',
    "PWD=/home/ada/project",
    "api_key: your-api-key-here",
    "secret: op://vault/item/field",
    "postgres://ada:${PASSWORD}@db/app and https://example.org:8443/a@b",
    "http://localhost:3000?mail=ada@example.org",
    "git@github.com:acme/app.git, ada@example.org",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Basic authentication and bearer authentication are supported",
    '<div class="sk-estimator-container sk-toggleable__content-arrow">',
    "risk-assessment-of-the-whole-project, task-force-of-the-year-2026",
    "-----BEGIN " + "PRIVATE KEY----- is how such a block begins",
    "MIT License, NOTICE, MTA.configuration.abcdefghijklmnopqrstuvwxyz",
    "emoji 🙂, Σίσυφος, İstanbul, 日本語: ok",
    "[redacted:github-token] was here; password=[redacted:password]",
)
