/**
 * Ledger monitor: the command that follows another node's log, from a folder or over HTTP.
 */
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import { unwrapErrorCause, readErrorMessage } from '../core/thrown-error.ts'
import { readFileIfPresent } from '../ledger/atomic-file-store.ts'
import { checkMonitoredLog } from '../ledger/monitor-store.ts'
import type { MonitorRoundResult, PublishedFileReader } from '../ledger/monitor-store.ts'
import { parseVerifierKey } from '../ledger/note-key.ts'
import { readResponseBytes } from '../toolbox/response-body.ts'
import { printAnswer } from './command-client.ts'
import { EXIT_CODES } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { createWholeNumberParser } from './whole-number.ts'

const MAX_FILE_BYTES = 33_554_432
const TIMEOUT_MS = 30_000

interface MonitorOptions {
  readonly vkey: string
  readonly copy: string
  readonly every?: number
  readonly silence: number
}

export function addMonitorCommand(ledger: Command): void {
  ledger
    .command('monitor <source>')
    .description('follow the published log of another node, and raise an alarm on a fork, a rollback or silence')
    .requiredOption('--vkey <key>', 'the log’s public key: what `hearthbus ledger key` prints there')
    .requiredOption('--copy <folder>', 'where the copy is kept that shows what the log said before')
    .option(
      '--every <seconds>',
      'keep checking at this interval; without it, check once',
      createWholeNumberParser(1, 86_400),
    )
    .option(
      '--silence <seconds>',
      'how long the log may show nothing new',
      createWholeNumberParser(1, 31_536_000),
      86_400,
    )
    .action((source: string, options: MonitorOptions, command: Command) => monitor(command, source, options))
}

async function monitor(command: Command, source: string, options: MonitorOptions): Promise<void> {
  const key = parseVerifierKey(options.vkey)
  if (!key.ok) return command.error(`--vkey: ${key.fault.reason}`, { exitCode: EXIT_CODES.usage })
  const log = {
    published: /^https?:\/\//.test(source) ? createHttpPublishedFileReader(source) : fromFolder(resolve(source)),
    key: key.value,
    folder: resolve(options.copy),
    silenceMs: options.silence * 1_000,
  }
  for (;;) {
    printAnswer(command, await roundOf(log))
    if (options.every === undefined) return
    await setTimeout(options.every * 1_000)
  }
}

async function roundOf(log: Parameters<typeof checkMonitoredLog>[0]): Promise<CommandAnswer> {
  try {
    return answerTo(await checkMonitoredLog(log, Date.now()))
  } catch (error) {
    const message = `The log cannot be read: ${readErrorMessage(unwrapErrorCause(error))}`
    return { json: { ok: false, alarm: 'unreachable', message }, text: message, exit: EXIT_CODES.failed }
  }
}

function answerTo(round: MonitorRoundResult): CommandAnswer {
  if (round.kind === 'alarm')
    return {
      json: { ok: false, alarm: round.alarm, message: round.sentence },
      text: `ALARM: ${round.sentence}`,
      exit: EXIT_CODES.integrity,
    }
  if (round.kind === 'unchanged')
    return { json: { ok: true, size: round.size }, text: `${round.size} entries, nothing new.` }
  return {
    json: { ok: true, from: round.from, size: round.size },
    text: `${round.size} entries, ${round.size - round.from} of them new; the log extends what it showed before.`,
  }
}

function fromFolder(folder: string): PublishedFileReader {
  return (path) => readFileIfPresent(join(folder, path))
}

/** An answer that is larger than a published file can be is cut off. */
export function createHttpPublishedFileReader(source: string): PublishedFileReader {
  const base = source.endsWith('/') ? source : `${source}/`
  return async (path) => {
    const response = await fetch(new URL(path, base), { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' })
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    const bytes = await readResponseBytes(response, MAX_FILE_BYTES)
    if (bytes === undefined) throw new Error(`${path} is larger than a published file can be`)
    return bytes
  }
}
