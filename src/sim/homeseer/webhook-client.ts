/**
 * Web hook sender: posts changes to the addresses an owner configured, in order, one at a time for each address.
 */
import { encodeWebhook, type WebhookChange } from '../../homeseer/wire/webhook.ts'

/** Limits the queue, so that an address which does not answer cannot make the simulator keep a whole day of changes. */
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
      // Only the first waiting change starts the sending loop; the running loop sends those that are added later.
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
      // HomeSeer does not retry a failed post, so the simulator does not either.
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
