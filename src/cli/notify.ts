/**
 * Notify: the command that sends a test notice to every configured destination.
 *
 * Pure: web/notice-client.ts sends the notices.
 */
import type { Command } from 'commander'
import type { NoticeDestinationConfig } from '../config/notify.ts'
import { postNotice } from '../web/notice-client.ts'
import { resolveNoticeDestination } from '../web/notice-destination.ts'
import { createTestNotice } from '../web/notice.ts'
import type { OutgoingNotice } from '../web/notice.ts'
import { readCommandConfig, printAnswer } from './command-client.ts'
import { EXIT_CODES, formatTable } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The result of the trial at one destination; `trouble` is the end of a sentence. */
interface Tried {
  readonly host: string
  readonly format: string
  readonly trouble: string | undefined
}

export function addNotifyCommand(program: Command): void {
  program
    .command('notify')
    .description('send a test notice to every destination in notify')
    .action(async (_, command: Command) => {
      const config = readCommandConfig(command)
      if (config === undefined) return
      const notice = createTestNotice(config.node.name)
      printAnswer(
        command,
        formatNotifyAttempts(await Promise.all(config.notify.map((one) => tryOut(notice, one, process.env)))),
      )
    })
}

async function tryOut(
  notice: OutgoingNotice,
  destination: NoticeDestinationConfig,
  environment: Environment,
): Promise<Tried> {
  const { format } = destination
  const place = resolveNoticeDestination(destination, environment)
  if (!place.ok) return { ...place.fault, format }
  return { host: place.value.host, format, trouble: await postNotice(notice, place.value) }
}

export function formatNotifyAttempts(tried: readonly Tried[]): CommandAnswer {
  if (tried.length === 0)
    return {
      json: [],
      text: 'There is nobody to notify: notify in the configuration names no destination.',
      exit: EXIT_CODES.usage,
    }
  return {
    json: tried.map(({ host, format, trouble }) =>
      trouble === undefined ? { host, format, ok: true } : { host, format, ok: false, trouble },
    ),
    text: formatTable(
      ['place', 'format', 'trial'],
      tried.map(({ host, format, trouble }) => [host, format, trouble === undefined ? 'taken' : `failed: ${trouble}`]),
    ),
    exit: tried.every(({ trouble }) => trouble === undefined) ? EXIT_CODES.ok : EXIT_CODES.failed,
  }
}
