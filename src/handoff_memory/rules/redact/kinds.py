r"""The table of secret kinds: what each looks like, and what merely looks like one.

Token rows know a secret by its own form; folded rows know it by what stands beside it (`password=`,
`Bearer`, `scheme://user:`) and run over text whose ASCII letters are lower-case, so that they need
no slow case-blind matching. Every pattern is linear: what repeats is bounded, possessive, or ends
the pattern.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from handoff_memory.core import lazy

Check: TypeAlias = Callable[[str], bool]
LONG_WORD = 16  # no token row matches fewer characters; a test holds them to it


class Row(NamedTuple):
    """One kind of secret. The last group that matched is the secret; without groups, all of it.

    Of a row with a name, the hints are what the name can end in, and one of `AFTER_NAME` follows.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Check | None = None
    folded: bool = False
    name: re.Pattern[str] | None = None  # recognises an object key whose string value is secret


# --- does a value look like a secret? -------------------------------------------------------------

# Values that stand where a password would, and clearly are none.
_STAND_IN = lazy.pattern(
    r"""(?ixsa)
      (?: \[redacted:[a-z0-9-]+\] )+
    | [*\u2022.\u2026x_\-\#?=]+ | \|[-+]? | >[-+]?                     # masks, YAML block marks
    | [\[<{(]{1,3} [a-z_\ .:|!-]* [\]>})]{0,3}                   # <password>, {token}, [hidden]
    | \$[{(].* | \$[a-z_]+ | \$\w+(?:->|::|\[|:).* | %\(.* | %[a-z_]+% | (?:%[a-z]\W?)+
    | (?:\#|\{|@)\{.*
    | (?:none|null|nil|undefined|true|false|yes|no|on|off|n/?a|empty|unset|missing|hidden|masked
        |redacted|required|optional|enabled|disabled|invalid|unknown|default|example|placeholder
        |must|should|may|can|is|was|are|not|the|a|an|this|that|your|my|and|or|if|for|from|in|see
        |[a-z]{1,2}|\d{1,2}|tbd|todo|dummy|pass|pw|bearer|basic)
    | &?(?:str|string|bytes|int|bool|any|text|secret(?:str|bytes)|unicode|object)[?!]?(?:\|.*)?
    | change[-_ ]?(?:me|it|this)\W? | (?:your|insert|enter|put|add|replace)[-_ ][a-z_\ -]*
    | (?:await|new|lambda|typeof)\ .* | (?:process|import\.meta|os)\.[a-z].*
    | \(?(?:[a-z_]\w*(?:\.[a-z_]\w*)+|[a-z_.]+(?:\d[a-z_]*)?(?:->\w+)*)[(\[].*   # a call
    | (?:self|this|cls|config|conf|cfg|settings|env|args|opts|options|request|req|user|params|data
        |body|form|props|state|ctx|secrets|vars?|local|module|credentials|creds)(?:\.\w+)+
    | (?:[a-z_][\w.]*[._])?(?:password|passwd|pwd|passphrase|secret|token|key)(?:_[a-z]{1,8})?
    | [\w.]{1,40}(?-i:(?<=[a-z0-9])(?:Password|Passwd|Secret|Token|Key))
    | (?:op|vault|ssm|arn|sops|kms|secretsmanager|keyring|env|file|ref)(?:\+\w+)?:.*
    | (?:~|\.{1,2}|[a-z]:)[/\\][\w@.\\/\ -]* | /[\w@.-]+(?:/[\w@.-]*)+ # a path
    """
)
_WORD = lazy.pattern(r"[A-Za-z0-9]+")
# What a person would write: a word, CamelCase, an acronym, a number; the words with a short count.
_PLAIN = lazy.pattern(
    r"(?:[a-z]{0,23}|[A-Z]{0,23}|[a-z]{0,18}(?:[A-Z]{1,5}[a-z]{2,18}\d{0,5}){1,12}[A-Z]{0,3})\d{0,4}"
    r"|\d{0,13}"
)
_NO_CREDENTIAL = lazy.pattern(r"\s|://|^(?:sha\d+|md5|blake\w+)[:-]")
_IDENTIFIER = lazy.pattern(
    r"[0-9A-Fa-f]{7,64}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
)


def _entropy_bits(text: str) -> float:
    """Shannon entropy of the characters, bits a character."""
    shares = (count / len(text) for count in Counter(text).values())
    return -sum(share * math.log2(share) for share in shares)


def _is_random(value: str) -> bool:
    """True where at least ten characters stand in chunks that no person would write."""
    odd = "".join(word for word in _WORD.findall(value) if not _PLAIN.fullmatch(word))
    return len(odd) >= 10 and _entropy_bits(odd) >= 2.5


def _is_password(value: str) -> bool:
    """True for any value but a clear stand-in; a long text is prose, not a passphrase."""
    value = value.strip()
    prose = len(value) > 128 and " " in value
    return bool(value) and not prose and not _STAND_IN.fullmatch(value)


def _is_credential(value: str) -> bool:
    """True for one word that looks random, digests without a label and UUIDs included."""
    if len(value) < 10 or _NO_CREDENTIAL.search(value):
        return False
    return _is_random(value) and _is_password(value)


def _is_token(value: str) -> bool:
    """As a credential, but hex and UUIDs pass: a bare `token` is often a cursor or an id."""
    return _is_credential(value) and not _IDENTIFIER.fullmatch(value)


def _is_url_password(value: str) -> bool:
    """True unless it is a stand-in, or a port before a query that holds an `@`."""
    return _is_password(value) and not re.match(r"\d{1,5}(?:[?#]|$)", value)


# --- the table ------------------------------------------------------------------------------------

# kind, what must occur in a word of the text (one of them), pattern; `<sk->` is `sk-` where a word
# begins. Each pattern ends in what may repeat, so that no tail of a secret stays behind.
_TOKENS = r"""
age-key            AGE-SECRET-KEY-     AGE-SECRET-KEY-1[0-9A-Z]{50,}
anthropic-key      sk-ant-             sk-ant-[\w-]{20,}
atlassian-token    ATATT3              ATATT3[\w=-]{60,}
aws-access-key     AKIA,ASIA,ABIA      <A[KSB]IA>[A-Z0-9]{16,}(?![a-z])
azure-secret       Q~                  [\w~.-]{3}\dQ~[\w~.-]{31,}
cloudflare-key     v1.0-               v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}
databricks-token   dapi                <dapi>[0-9a-f]{32,}
digitalocean-token _v1_                do[oprt]_v1_[0-9a-f]{64,}
discord-token      MT,Mj,Mz,ND,NT,Nj,Nz,OD,OT  \.(?:DISCORD_ID)([\w-]{6}\.[\w-]{27,})
docker-token       dckr_               dckr_[po]at_[\w-]{20,}
doppler-token      dp.                 <dp\.>[a-z]{2,5}\.(?:[\w-]{1,40}\.)?[^\W_]{40,}
gcp-api-key        AIza                <AIza>[\w-]{35,}
github-token       ghp_,gho_,ghu_,ghs_,ghr_    gh[pousr]_[^\W_]{30,}
github-token       github_pat_         github_pat_\w{40,}
gitlab-token       glpat-,glptt-,gldt-,glrt-,glsoat-  gl(?:p(?:at|tt)|dt|rt|soat)-[\w.-]{20,}
google-oauth       ya29.,GOCSPX-       (?:ya29\.|GOCSPX-)[\w-]{20,}
grafana-token      glsa_,glc_          gl(?:sa|c)_[\w+/=]{32,}
groq-key           gsk_                <gsk_>[^\W_]{40,}
heroku-key         HRKU-               HRKU-[\w-]{36,}
huggingface-token  hf_                 <hf_>[^\W_]{30,40}+(?![\w-])
jwt                eyJ  <eyJ>[\w-]{10,1024}+\.(?:eyJ[\w-]++|[\w-]*+(?:\.[\w-]{8,}+){2})\.[\w-]{4,}
linear-key         lin_                lin_(?:api|oauth)_[^\W_]{32,}
mailgun-key        key-                key-(?:(?<![\w-]key-)|(?<=\\[nrt]key-))[0-9a-f]{32}(?![\w-])
newrelic-key       NRAK-               NRAK-[A-Z0-9]{24,}
notion-token       ntn_                <ntn_>[^\W_]{40,}
notion-token       secret_             <secret_>[^\W_]{43,}
npm-token          npm_                npm_[^\W_]{36,}
openai-key         sk-                 <sk->[\w-]{20,}
postman-key        PMAK-               PMAK-[0-9a-f]{24}-[0-9a-f]{30,}
pypi-token         pypi-               pypi-[\w-]{40,}
replicate-token    r8_                 <r8_>[^\W_]{36,}
sendgrid-key       SG.                 <SG\.>[\w-]{16,64}+\.[\w-]{16,}
sentry-token       sntry               sntry[su]_[\w+/=]{40,}
shopify-token      shpat_,shpca_,shppa_,shpss_,shpua_ shp(?:at|ca|pa|ss|ua)_[0-9A-Fa-f]{32,}
slack-token        xox,xapp-           xox[a-z]-[\w.-]{12,}|xapp-\d-[\w-]{20,}
stripe-key         k_live_,k_test_     <[rs]k_(?:live|test)_>[^\W_]{16,}
supabase-key       sbp_,sb_secret_     sbp_[0-9a-f]{40,}|sb_secret_[\w-]{20,}
tailscale-key      tskey-              tskey-[a-z]{3,12}-[\w-]{16,}
twilio-key         SK                  <SK>[0-9a-f]{32}(?![^\W_])
vault-token        hvs.,hvb.,hvr.      <hv[sbr]\.>[\w-]{20,}
xai-key            xai-                <xai->[^\W_]{60,}
"""
_OFTEN_WORDS = {"openai-key", "pypi-token"}  # sk-estimator-…, pypi-… begin ordinary names, too


def _left(prefix: re.Match[str]) -> str:
    r"""The prefix where a word begins: also after a literal `\n`, a `%3D` or a colour code."""
    before = (r"\\[nrt]", "%[0-9A-F]{2}", r"\x1b\[\d\dm", r";\d\dm", r"\x1b\[K")
    begins = "".join(f"|(?<={lead}{prefix[1]})" for lead in before)
    # The prefix comes first, so that the search for it is a plain one.
    return f"{prefix[1]}(?:(?<![A-Za-z0-9]{prefix[1]}){begins})"


def _token(line: str) -> Row:
    kind, hints, pattern = line.split()
    discord_id = "|".join(rf"(?<=[MNO][\w-]{{{length}}}\.)" for length in range(23, 28))
    pattern = re.sub(r"(?<!\?)<(?![!=])(.+?)>", _left, pattern).replace("DISCORD_ID", discord_id)
    check = _is_random if kind in _OFTEN_WORDS else None
    return Row(kind, tuple(hints.split(",")), lazy.pattern(pattern, re.ASCII), check)


# From the end of a name to the end of its value. The quote may be escaped (JSON inside JSON); a
# value without quotes ends at white space, or at punctuation behind which it does not go on.
_STOP = r"\s\"'`,;&.!?)\]}"
_TYPE = (
    r"(?::?[ \t]?&?(?:optional\[)?(?:str|string|bytes|secretstr)\]?(?:[ ]?\|[ ]?(?:none|null))?)?"
)
_VALUE = (
    r"(?:[fbru]{0,2}(?P<quote>(?P<escape>\\{1,7})?[\"'`])(?(close)|(?![\s),;\]}]|\+[ ]))"
    r"((?:(?!(?(escape)(?<!\\))(?P=quote))(?:\\.|[^\n]))++)"
    rf"|((?:[^{_STOP}\\<]++|\\(?![nrt\"'`\\])|<(?![/a-z])"
    rf"|[,;&.!?)\]}}](?=[^{_STOP}:\\])(?![\w -]{{1,40}}[\"']?[ \t]?[:=]))++))"
)
_ASSIGNED = (
    r"(?P<close>\\{0,7}[\"'`])?(?(close)\]?)\*{0,2}[ \t]{0,8}"
    rf"(?:{_TYPE}[ \t]{{0,8}}(?::=|=>|={{1,3}})|:(?!:)\*{{0,2}}|>(?=[^\s<]{{1,256}}</))[ \t]{{0,8}}"
    + _VALUE
)
# What follows a name for `_ASSIGNED` to match, and the end of an object's key.
AFTER_NAME = (*"\\\"'`* \t:=>&\n", "optional[", "str", "bytes", "secretstr")
_OPTION = r"--(?=[a-z])[a-z-]{0,30}?(?:%s)[ \t]{1,4}(?P<close>(?!-))?" + _VALUE
_HEADER = (
    r"authorization\\{0,7}[\"']?[ \t]?[:=,][ \t]?\\{0,7}[\"']?"
    r"(?:bearer|basic|token|bot)[ \t]{1,4}([^\s\"'`,;\\<]{6,})"
)
_PEM_GAP = r"(?:\\{1,4}[rn]|[\s>|#*\"',])"
_PEM = (
    r"-----begin [a-z0-9 ]{0,30}private key(?: block)?-----"
    rf"(?>(?:{_PEM_GAP}*+(?:[a-z-]{{4,20}}: [^\n\\]{{1,100}}+(?=[\n\\])|[a-z0-9+/=]{{16,}}+))++)"
    rf"(?:{_PEM_GAP}*+[a-z0-9+/]{{1,15}}+(?:=|(?=\s*\Z|{_PEM_GAP}*+-----end))=*)?+"
    rf"(?:{_PEM_GAP}*+-----end [a-z0-9 ]{{0,30}}private key(?: block)?-----)?+"
)


def _beside(kind: str, hints: str, pattern: str, check: Check | None = None) -> Row:
    form = lazy.pattern(pattern, re.ASCII)
    return Row(kind, tuple(hints.split(",")), form, check, folded=True)


def _named(kind: str, hints: str, name: str, check: Check) -> Row:
    row = _beside(kind, hints, f"(?:{name}){_ASSIGNED}", check)
    return row._replace(name=lazy.pattern(rf"(?:{name})\Z", re.ASCII))


def _compound(last: str, firsts: str) -> str:
    """The last word of a name, where one of the first words stands before it: api_key, apiKey."""
    befores = (f"(?<={first}{joint}{last})" for first in firsts.split() for joint in ("", "[_ -]"))
    return f"{last}(?:{'|'.join(befores)})"


_KEYS = _compound("key", "api access account secret private signing encryption auth master")
_PASSES = _compound("pass", "db user smtp root admin mysql pg redis ftp mail login")
_CREDENTIAL_TOKENS = _compound("token", "access auth refresh bearer bot api session personal")
_OTHER_TOKENS = r"token(?<!page.token)(?<!pagetoken)(?<!next.token)(?<!nexttoken)"
FOLDED_ROWS = (
    _beside("private-key", "private key", _PEM),
    _beside("azure-key", "accountkey=,accesskey=", r"cc(?:ount|ess)key=([a-z0-9+/]{40,}={0,2})"),
    _beside("azure-sas", "sig=", r"sig=(?<=[?&;]sig=)([\w%+/=-]{30,})", _is_token),
    _beside("google-oauth", "1//0", r"1//0(?:(?<![\w/]1//0)|(?<=\\[nrt]1//0))[\w-]{40,}"),
    _beside("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/[a-z]{3,12}/([\w/-]{20,})"),
    _beside("discord-webhook", "/webhooks/", r"/webhooks/\d{16,20}/([\w-]{60,})"),
    _beside("stripe-key", "whsec_", r"whsec_[a-z0-9+/=]{24,}"),
    _beside("telegram-token", ":aa", r":(?<=\d{8}:)(aa[\w-]{32,})"),
    _beside(
        "url-password", "://", r"://[^\s/:@\"'<>]{0,128}:([^\s/\"'<>]{1,256})@", _is_url_password
    ),
    _beside("authorization", "authorization", _HEADER, _is_password),
    _beside(
        "authorization",
        "bearer,basic",
        r"(?:bearer|basic)(?:[ \t]|%20){1,4}([\w.~+/=-]{10,})",
        _is_credential,
    ),
    _beside(
        *("password", "password ,password\t,passwd ,passwd\t", _OPTION % "passw(?:or)?d"),
        _is_password,
    ),
    _beside(
        *("credential", "token ,token\t,secret ,secret\t,key ,key\t", _OPTION % "token|secret|key"),
        _is_credential,
    ),
    _named("aws-secret-key", "key", r"secret[_ -]?access[_ -]?key", _is_credential),
    _named("api-key", "key", _KEYS, _is_credential),
    _named(
        *("password", "password,passwort,passwd,passphrase,pwd"),
        *("passw(?:or[dt]|d)|passphrase|pwd", _is_password),
    ),
    _named("password", "pass", _PASSES, _is_password),
    _named("token", "token", _CREDENTIAL_TOKENS, _is_credential),
    _named("token", "token", _OTHER_TOKENS, _is_token),
    _named("secret", "secret", "secret", _is_credential),
)
TOKEN_ROWS = tuple(map(_token, _TOKENS.strip().splitlines()))
ROWS = TOKEN_ROWS + FOLDED_ROWS
