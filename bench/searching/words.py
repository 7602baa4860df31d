"""The vocabulary of the search benchmark: names of services, what notes are made of, CJK terms."""

# ruff: noqa: SIM905, RUF001, E501 - lists that a person can read; full-width marks; wide characters

from __future__ import annotations

from typing import Final

FIRST: Final = (
    "account address audit badge billing booking campaign cart catalog checkout claims contract "
    "courier customer delivery discount fleet fraud gift identity inventory invoice label loyalty "
    "media menu order partner payment payroll pricing profile quote refund report return review "
    "search shipping stock subscription supplier tax ticket tracking voucher warehouse"
).split()
SECOND: Final = (
    "agent api archive bridge broker cache engine exporter gateway importer index ledger mailer "
    "portal proxy router scheduler sync vault worker"
).split()
NOUNS: Final = (
    "alert backlog backup batch benchmark branch bucket budget build cache certificate change "
    "client cluster commit config connection container cron dashboard database deadline deploy "
    "dependency disk endpoint error event export failure feature fixture flag header heap hook "
    "host image import index job key latency limit load lock log memory merge message metric "
    "migration module network node outage owner package page parser patch pipeline policy pool "
    "port profile queue query quota record region release replica report request response retry "
    "role rollback rollout row runtime schedule schema script secret server session shard socket "
    "staging storage stream suite table task team template tenant test thread ticket timeout token "
    "topic trace traffic upgrade upload version volume vulnerability warning webhook worker zone"
).split()
VERBS: Final = (
    "added blocked bumped changed checked cleaned closed compared confirmed copied debugged "
    "deployed disabled documented dropped enabled failed filed finished fixed found handled "
    "investigated kept limited listed loaded logged looked measured merged migrated moved opened "
    "paused pinned planned profiled raised rebuilt reduced removed renamed replaced reproduced "
    "restarted retried reverted reviewed rewrote sampled scaled skipped started stopped switched "
    "tested timed traced tuned updated verified waited watched"
).split()
REST: Final = (
    "again after almost before cleanly during early slow fast flaky green red large small nightly "
    "weekly only still twice without because while until once later first last new old same other "
    "partial manual automatic unstable quiet noisy broken healthy stale fresh upstream downstream"
).split()
LINKS: Final = "the a of to and in on for with from by at is was not".split()
NOWHERE: Final = (
    "abacus bagpipe cormorant dulcimer ephemeris frangipani gondola harpsichord isthmus jacaranda "
    "kumquat lighthouse mandolin nightingale obelisk periwinkle quicksand rhubarb sarcophagus "
    "tamarind umbrella viaduct wolverine xylophone yarrow zeppelin"
).split()
DIRECTORIES: Final = (
    "adapters billing clients core domain events handlers http jobs models repositories rules "
    "services storage tasks transport views workers"
).split()
STEMS: Final = (
    "backoff batching checksum circuit_breaker connection_pool cursor_page currency_rounding "
    "dead_letter fee_table idempotency invoice_lines lease_renewal line_items money_format "
    "night_batch outbox page_cache partial_refund payout_window rate_card rate_limiter "
    "retry_policy session_store signature_check slug_table stock_count tax_zone tenant_map "
    "token_bucket webhook_verify"
).split()
EXTENSIONS: Final = ("py", "ts", "go", "rs", "java", "kt")

# Two characters each: what a model types into a search.
CHINESE: Final = (
    "库存 退款 发票 物流 缓存 超时 重试 配置 密钥 证书 日志 备份 迁移 索引 队列 限流 熔断 降级 回滚 灰度 "
    "监控 告警 权限 审计 汇率 结算 优惠 会员 积分 地址 仓库 拣货 签收 对账 账单 税率 分摊 押金 预付 冻结"
).split()
JAPANESE: Final = (
    "在庫 決済 返金 請求 配送 認証 監視 障害 設定 夜間 更新 削除 遅延 承認 集計".split()
)
KOREAN: Final = "결제 재고 환불 배송 인증 장애 설정 캐시 백업 정산".split()
CHINESE_NOTES: Final = (
    "{s}的{a}模块在{b}时会变慢，先清空再重启即可。",
    "修改{a}之前，请先通知负责{b}的同事；{s}上线后要再检查一次。",
    "昨天{s}的{a}出了问题，原因是{b}没有更新。",
    "{s}里{a}与{b}不能同时打开，否则数据会重复。",
)
JAPANESE_NOTES: Final = (
    "{s}の{a}処理は、{b}が終わるまで待つ必要がある。",
    "{s}で{a}のエラーが出たときは、{b}を確認してから再実行する。",
)
KOREAN_NOTES: Final = (
    "{s} 서비스의 {a}를 바꾸기 전에 {b}를 먼저 확인한다.",
    "{s}에서 {a}가 느려지면 {b}를 끄고 다시 시작한다.",
)
