/** Notice destination: where people are notified, with everything that is needed to post there. */
import type { NoticeDestinationConfig } from '../config/notify.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

export interface NoticeDestination extends Pick<NoticeDestinationConfig, 'url' | 'format' | 'names'> {
  /** The part of the address that may be shown. The rest may be the only thing that protects it. */
  readonly host: string
  readonly token: string | undefined
  readonly link: string | undefined
}

/** A destination that cannot be used, and why, as the end of a sentence. */
export interface UnusableNoticeDestination {
  readonly host: string
  readonly trouble: string
}

/** If the configured token is missing, nothing is sent at all. */
export function resolveNoticeDestination(
  { url, format, names, link, tokenVariable }: NoticeDestinationConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Result<NoticeDestination, UnusableNoticeDestination> {
  const { host } = new URL(url)
  // Encoded as ASCII, because it is sent in a header.
  const place = { url, host, format, names, link: link === undefined ? undefined : new URL(link).href }
  if (tokenVariable === undefined) return ok({ ...place, token: undefined })
  const token = environment[tokenVariable] ?? ''
  const variable = `the environment variable ${tokenVariable}`
  if (token === '') return fail({ host, trouble: `${variable}, which should hold its token, is not set` })
  // Checked here, because the error for an invalid header would contain the token.
  if (!/^[\x21-\x7E]+$/.test(token)) return fail({ host, trouble: `${variable} holds a value that cannot be a token` })
  return ok({ ...place, token })
}

/**
 * `failing`: the destinations that fail, as a running gateway knows. Before a start nothing is sent: a phone should
 * only ring for a person who asked for a trial.
 */
export function examineNoticeDestinations(
  notify: readonly NoticeDestinationConfig[],
  environment: Readonly<Record<string, string | undefined>>,
  failing?: readonly UnusableNoticeDestination[],
): readonly DoctorFinding[] {
  if (notify.length === 0) return []
  const about = 'notify'
  const unusable =
    failing ??
    notify
      .map((destination) => resolveNoticeDestination(destination, environment))
      .flatMap((place) => (place.ok ? [] : [place.fault]))
  if (unusable.length > 0) {
    const trial = failing === undefined ? '' : ' Try it with: hearthbus notify.'
    return [{ level: 'warn', about, sentence: `${explainUndeliveredNotices(unusable)}${trial}` }]
  }
  const places = notify.length === 1 ? '1 place' : `${notify.length} places`
  const sentence = failing === undefined ? `${places}, not tried; hearthbus notify tries.` : `${places}, none failing.`
  return [{ level: 'ok', about, sentence }]
}

export function explainUndeliveredNotices(failing: readonly UnusableNoticeDestination[]): string {
  return failing.map(({ host, trouble }) => `Notices about waiting calls do not reach ${host}: ${trouble}.`).join(' ')
}
