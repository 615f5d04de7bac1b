/**
 * Web hook sender: posts changes to the addresses an owner configured, in order, one at a time for each address.
 */
import { encodeWebhook, type WebhookChange } from '../../homeseer/wire/webhook.ts'

/** An address that does not answer must not make the simulator remember the whole day. */
const MAX_WAITING = 1_000
const TIMEOUT_MS = 5_000

export class WebhookSender {
  readonly #targets: readonly { readonly url: string; readonly waiting: string[] }[]
  readonly #stopping = new AbortController()

  constructor(urls: readonly string[]) {
    this.#targets = urls.map((url) => ({ url, waiting: [] }))
  }

  send(change: WebhookChange, zone: string): void {
    const body = encodeWebhook(change, zone)
    for (const target of this.#targets) {
      if (target.waiting.length >= MAX_WAITING) target.waiting.shift()
      target.waiting.push(body)
      // Only the first starts the sender; the others are found by it.
      if (target.waiting.length === 1) void this.#drain(target)
    }
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #drain(target: { readonly url: string; readonly waiting: string[] }): Promise<void> {
    while (target.waiting.length > 0 && !this.#stopping.signal.aborted) {
      const body = target.waiting[0] ?? ''
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(TIMEOUT_MS)])
      // HomeSeer does not try again, so neither do we.
      await fetch(target.url, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json' },
        signal,
      }).catch(() => undefined)
      target.waiting.shift()
    }
  }
}
