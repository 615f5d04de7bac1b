/**
 * Notice client: brings one notice to one place that takes a POST.
 *
 *   json   { title, message, link?, event, node, count, waiting: [ … ] }
 *   ntfy   the text, with Title, Priority, Tags and Click (https://docs.ntfy.sh/publish)
 */
import { systemErrorCode } from '../core/thrown.ts'
import type { PersonNotice } from './notice.ts'
import type { NoticePlace } from './notice-place.ts'

const TIMEOUT_MS = 10_000

/**
 * Resolves to why it was not taken, as the end of a sentence; `undefined`: it was. Never rejects, and says nothing that
 * `fetch` says: that may hold the address or the token.
 */
export async function sendNotice(
  notice: PersonNotice,
  place: NoticePlace,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const patience = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(place.url, {
      method: 'POST',
      headers: headersFor(notice, place),
      body: place.format === 'ntfy' ? notice.text : jsonOf(notice, place),
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
      // What is at another address was not named by the owner.
      redirect: 'manual',
    })
    // Whatever else it says, it has been heard.
    void response.body?.cancel().catch(() => undefined)
    return response.ok ? undefined : refusal(response.status)
  } catch (error) {
    if (patience.aborted) return `it did not answer within ${TIMEOUT_MS / 1_000} s`
    return `it cannot be reached${codeOf(error)}`
  }
}

function refusal(status: number): string {
  return status >= 300 && status < 400
    ? `it answered ${status}, and is not followed elsewhere`
    : `it answered ${status}`
}

/** `fetch` says only that it failed; why is in the cause. */
function codeOf(error: unknown): string {
  const code = systemErrorCode(error instanceof Error ? error.cause : undefined)
  return code === undefined ? '' : ` (${code})`
}

function jsonOf({ title, text, facts }: PersonNotice, { link }: NoticePlace): string {
  return JSON.stringify({ title, message: text, ...(link === undefined ? {} : { link }), ...facts })
}

function headersFor({ title }: PersonNotice, { format, token, link }: NoticePlace): Record<string, string> {
  const common = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  if (format === 'json') return { ...common, 'Content-Type': 'application/json' }
  return {
    ...common,
    'Content-Type': 'text/plain; charset=utf-8',
    Title: title,
    Priority: 'high',
    Tags: 'raised_hand',
    ...(link === undefined ? {} : { Click: link }),
  }
}
