import { EventEmitter } from "node:events";
import type { Logger, RetryPolicy } from "./types";

export interface QueueOptions<T> {
  concurrency?: number;
  retry?: RetryPolicy;
  onDrop?: (item: T, reason: Error) => void;
}

interface Entry<T> {
  item: T;
  attempts: number;
  enqueuedAt: number;
}

export class WorkQueue<T> extends EventEmitter {
  private readonly pending: Entry<T>[] = [];
  private running = 0;

  constructor(
    private readonly handler: (item: T, signal: AbortSignal) => Promise<void>,
    private readonly options: QueueOptions<T> = {},
    private readonly logger?: Logger,
  ) {
    super();
  }

  push(...items: T[]): number {
    for (const item of items) {
      this.pending.push({ item, attempts: 0, enqueuedAt: performance.now() });
    }
    this.drain();
    return this.pending.length;
  }

  private drain(): void {
    const limit = this.options.concurrency ?? 4;
    while (this.running < limit && this.pending.length > 0) {
      const entry = this.pending.shift()!;
      this.running += 1;
      void this.execute(entry).finally(() => {
        this.running -= 1;
        if (this.pending.length === 0 && this.running === 0) {
          this.emit("idle");
        }
        this.drain();
      });
    }
  }

  private async execute(entry: Entry<T>): Promise<void> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), this.options.retry?.timeoutMs ?? 30_000);
    try {
      await this.handler(entry.item, controller.signal);
    } catch (error) {
      entry.attempts += 1;
      if (entry.attempts < (this.options.retry?.maxAttempts ?? 3)) {
        this.logger?.warn(`retrying after ${entry.attempts} attempts`, { error });
        this.pending.push(entry);
      } else {
        this.options.onDrop?.(entry.item, error instanceof Error ? error : new Error(String(error)));
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
