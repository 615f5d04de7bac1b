/**
 * Notice place: where people are told, ready to be told there.
 */
import type { NotifyDestination } from '../config/notify.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

export interface NoticePlace extends Pick<NotifyDestination, 'url' | 'format' | 'names'> {
  /** What people may read of its address: the rest may be all that protects it. */
  readonly host: string
  readonly token: string | undefined
  readonly link: string | undefined
}

/** A place that cannot be used, and why, as the end of a sentence. */
export interface UnusablePlace {
  readonly host: string
  readonly trouble: string
}

/** Without the token that the owner wants shown, nothing is sent at all. */
export function resolveNoticePlace(
  { url, format, names, link, tokenVariable }: NotifyDestination,
  environment: Readonly<Record<string, string | undefined>>,
): Result<NoticePlace, UnusablePlace> {
  const { host } = new URL(url)
  // As ASCII: it travels in a header.
  const place = { url, host, format, names, link: link === undefined ? undefined : new URL(link).href }
  if (tokenVariable === undefined) return ok({ ...place, token: undefined })
  const token = environment[tokenVariable] ?? ''
  const variable = `the environment variable ${tokenVariable}`
  if (token === '') return fail({ host, trouble: `${variable}, which should hold its token, is not set` })
  // Said here: what refuses such a header would repeat the token in its complaint.
  if (!/^[\x21-\x7E]+$/.test(token)) return fail({ host, trouble: `${variable} holds what cannot be a token` })
  return ok({ ...place, token })
}

export function explainUndeliveredNotices(failing: readonly UnusablePlace[]): string {
  return failing
    .map(({ host, trouble }) => `People are not told at ${host} that calls wait for them: ${trouble}.`)
    .join(' ')
}
