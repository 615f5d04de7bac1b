/**
 * Web hook handler: answers HomeSeer's posts on the listener that it is mounted on. HomeSeer cannot sign a post, so
 * the configured address carries a secret (`…?key=…`), and without it nothing is read.
 *
 * Does I/O (reads the body of the request it is given).
 */
import { readResponseBytes } from '../../toolbox/response-body.ts'
import { createHash, timingSafeEqual } from 'node:crypto'
import { decodeWebhook, type WebhookChange } from './webhook.ts'

export interface WebhookHandlerOptions {
  /** The secret in the URL; at least 16 characters, so that it cannot be guessed. */
  readonly key: string
  readonly onChange: (change: WebhookChange) => void
}

export type WebhookHandler = (request: Request) => Promise<Response>

const MIN_KEY = 16
/** A device change has a few hundred bytes. */
const MAX_BODY_BYTES = 64 * 1_024

export function createWebhookHandler({ key, onChange }: WebhookHandlerOptions): WebhookHandler {
  if (key.length < MIN_KEY) throw new RangeError(`a web hook key needs ${MIN_KEY} characters`)
  return async (request) => {
    if (!sameSecret(new URL(request.url).searchParams.get('key') ?? '', key)) return answer(403, 'wrong key')
    if (request.method !== 'POST') return answer(405, 'only POST')
    const body = await readResponseBytes(request, MAX_BODY_BYTES).catch(() => undefined)
    if (body === undefined) return answer(413, 'too large or cut off')
    const change = decodeWebhook(body)
    if (!change.ok) return answer(400, change.fault.detail)
    if (change.value !== undefined) onChange(change.value)
    return answer(200, 'ok')
  }
}

/** Compares hashes, so that neither length nor content can be derived from the time it takes. */
function sameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}

function answer(status: number, text: string): Response {
  return new Response(text, { status, headers: { 'Content-Type': 'text/plain' } })
}
