/**
 * Request state seal: protects the state that a client keeps for a handler between two rounds of one call, so that it
 * comes back unchanged or not at all.
 *
 *   v1.<base64url {state, nonce, expiresMs}>.<base64url HMAC-SHA-256>
 *
 * The client holds it and may send anything (MCP 2026-07-28, multi round-trip requests, server requirements 4–5).
 * The tag covers who was asked and for which exact call; a seal opens once, in this process, for ten minutes.
 * Signed, not encrypted: handlers keep secrets out of it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { toBase64url, fromBase64url, fromUtf8, toUtf8 } from '../core/bytes.ts'
import type { Clock } from '../core/clock.ts'

export interface RequestStateSeal {
  /** `bound` contains everything that must be the same when the state comes back. */
  readonly seal: (state: string, bound: string) => string
  /**
   * Returns the state; `undefined` for a seal that is not ours, not for this call, expired, or used before. The caller
   * is not told which.
   */
  readonly open: (sealed: string, bound: string) => string | undefined
}

const PREFIX = 'v1.'
const LIFETIME_MS = 600_000
/**
 * With this many nonces in memory no seal is opened until one expires: a nonce that is forgotten early would let its
 * seal open twice.
 */
const MAX_REMEMBERED = 10_000

export function createRequestStateSeal(clock: Clock, key: Uint8Array = randomBytes(32)): RequestStateSeal {
  const opened = new Map<string, number>()

  function tag(body: string, bound: string): Buffer {
    return createHmac('sha256', key).update(PREFIX).update(body).update('\0').update(bound).digest()
  }

  function forgetExpired(now: number): void {
    for (const [nonce, expiresMs] of opened) if (expiresMs <= now) opened.delete(nonce)
  }

  return {
    seal: (state, bound) => {
      const nonce = toBase64url(randomBytes(12))
      const body = toBase64url(toUtf8(JSON.stringify({ state, nonce, expiresMs: clock.monotonic() + LIFETIME_MS })))
      return `${PREFIX}${body}.${toBase64url(tag(body, bound))}`
    },
    open: (sealed, bound) => {
      const [version, body, mac, ...rest] = sealed.split('.')
      if (version !== 'v1' || body === undefined || mac === undefined || rest.length > 0) return undefined
      const given = fromBase64url(mac)
      const wanted = tag(body, bound)
      if (given?.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
      // The tag is valid, so the text is what `seal` wrote.
      const text = fromUtf8(fromBase64url(body) ?? new Uint8Array()) ?? '{}'
      const { state, nonce, expiresMs } = JSON.parse(text) as { state: string; nonce: string; expiresMs: number }
      const now = clock.monotonic()
      if (expiresMs <= now || opened.has(nonce)) return undefined
      if (opened.size >= MAX_REMEMBERED) forgetExpired(now)
      if (opened.size >= MAX_REMEMBERED) return undefined
      opened.set(nonce, expiresMs)
      return state
    },
  }
}
