/**
 * Notice client: posts one notice to one destination.
 *
 *   json   { title, message, link?, event, node, count, waiting: [ … ] }
 *   ntfy   the text, with Title, Priority, Tags and Click (https://docs.ntfy.sh/publish)
 */
import { readSystemErrorCode } from '../core/thrown-error.ts'
import type { OutgoingNotice } from './notice.ts'
import type { NoticeDestination } from './notice-destination.ts'

const TIMEOUT_MS = 10_000

/**
 * Resolves to why the notice was not accepted, as the end of a sentence; `undefined` when it was accepted. Never
 * rejects. The error of `fetch` is not repeated, because it may contain the address or the token.
 */
export async function postNotice(
  notice: OutgoingNotice,
  place: NoticeDestination,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const patience = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(place.url, {
      method: 'POST',
      headers: headersFor(notice, place),
      body: place.format === 'ntfy' ? notice.text : jsonOf(notice, place),
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
      // Redirects are not followed, because the owner has configured no other address.
      redirect: 'manual',
    })
    // The body of the answer does not matter: the notice was received.
    void response.body?.cancel().catch(() => undefined)
    return response.ok ? undefined : refusal(response.status)
  } catch (error) {
    if (patience.aborted) return `it did not answer within ${TIMEOUT_MS / 1_000} s`
    return `it cannot be reached${codeOf(error)}`
  }
}

function refusal(status: number): string {
  return status >= 300 && status < 400 ? `it answered ${status}; redirects are not followed` : `it answered ${status}`
}

/** The message of `fetch` says only that it failed; the reason is in the cause. */
function codeOf(error: unknown): string {
  const code = readSystemErrorCode(error instanceof Error ? error.cause : undefined)
  return code === undefined ? '' : ` (${code})`
}

function jsonOf({ title, text, facts }: OutgoingNotice, { link }: NoticeDestination): string {
  return JSON.stringify({ title, message: text, ...(link === undefined ? {} : { link }), ...facts })
}

function headersFor({ title }: OutgoingNotice, { format, token, link }: NoticeDestination): Record<string, string> {
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
