/**
 * Ledger: commands that sign, prove, show, export and erase; the verifying ones are in ledger-verify.ts.
 *
 * Pure: offline-ledger-store.ts opens the ledger, read-only-ledger-store.ts reads its files, and command-client.ts sends
 * requests to a running gateway.
 */
import { resolve } from 'node:path'
import { Argument } from 'commander'
import type { Command } from 'commander'
import type { Json } from '../core/json.ts'
import { OWNER_PRINCIPAL } from '../guard/authenticator.ts'
import { formatSignedCheckpoint } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatVerifierKey } from '../ledger/note-key.ts'
import { formatLedgerOperationFault } from '../ledger/ledger-operation-fault.ts'
import { bodyErasureRequestSchema } from '../web/api-requests.ts'
import type { ErasureResultView } from '../web/api-requests.ts'
import { eraseLedgerEntryBodies } from '../web/ledger-erasure.ts'
import type { LedgerEntryView } from '../web/views.ts'
import {
  fetchAndPrintGatewayAnswer,
  readCommandConfig,
  readDataRoot,
  readGlobalOptions,
  printAnswer,
} from './command-client.ts'
import { findRunningGateway } from './gateway-client.ts'
import { readEntryBytes, readVerifierKey } from './read-only-ledger-store.ts'
import { NOTHING_TO_ADOPT_MESSAGE, startSuccessorLog, withOfflineLedger } from './offline-ledger-store.ts'
import type { OfflineLedgerOptions } from './offline-ledger-store.ts'
import { addAuditPacketCommands } from './audit-packet-client.ts'
import { addMonitorCommand } from './ledger-monitor-client.ts'
import { addVerifyCommand } from './ledger-verify.ts'
import { EXIT_CODES, createFailureAnswer } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { formatLedgerEntries } from './views-text.ts'
import { createWholeNumberParser } from './whole-number.ts'

export function addLedgerCommands(program: Command): void {
  const ledger = program.command('ledger').description('the log of everything that happened')
  addVerifyCommand(ledger)
  addMonitorCommand(ledger)
  addAuditPacketCommands(ledger)
  ledger
    .command('entry')
    .description('the exact bytes of an entry, which a proof is about')
    .addArgument(seqArgument())
    .action((seq: number, _, command: Command) => showEntry(command, seq))
  ledger
    .command('checkpoint')
    .description('sign the log as it is now')
    .action((_, command: Command) => signNow(command))
  ledger
    .command('proof')
    .description('a proof that an entry is in the log, which anybody can check offline')
    .addArgument(seqArgument())
    .option('--with-body', 'with what the entry commits to, where it was not erased')
    .action((seq: number, options: { withBody?: boolean }, command: Command) =>
      prove(command, seq, options.withBody === true),
    )
  ledger
    .command('entries')
    .description('what the log says, newest first')
    .option('--limit <n>', 'how many', createWholeNumberParser(1, 500), 20)
    .option('--before <seq>', 'older than this entry', createWholeNumberParser(0, Number.MAX_SAFE_INTEGER))
    .action((options: { limit: number; before?: number }, command: Command) => {
      const before = options.before === undefined ? '' : `&before=${options.before}`
      return fetchAndPrintGatewayAnswer(
        command,
        { path: `/api/ledger/entries?limit=${options.limit}${before}` },
        (value) => formatLedgerEntries(value as unknown as LedgerEntryView[]),
      )
    })
  ledger
    .command('key')
    .description('the log’s public key, for witnesses and for whoever checks a copy or a proof')
    .action((_, command: Command) => showKey(command))
  ledger
    .command('export <folder>')
    .description('the whole log as static files (C2SP tiles)')
    .option('--with-bodies', 'with what the entries commit to: arguments, answers, titles, intents')
    .action((folder: string, options: { withBodies?: boolean }, command: Command) =>
      exportTo(command, resolve(folder), options.withBodies === true),
    )
  ledger
    .command('erase')
    .description(
      'erase what entries hold beside the log, for good: arguments, answers, titles, intents; proofs stay valid',
    )
    .argument('<seq...>', 'numbers of the entries', (text: string, before: number[] | undefined) => [
      ...(before ?? []),
      createWholeNumberParser(0, Number.MAX_SAFE_INTEGER)(text),
    ])
    .requiredOption('--reason <text>', 'why; the log keeps the reason for good, so do not repeat what is erased')
    .action((entries: number[], { reason }: { reason: string }, command: Command) => erase(command, entries, reason))
  ledger
    .command('rebuild')
    .description('rebuild the tables that repeat the log; no decision is made from them')
    .action((_, command: Command) => offline(command, rebuild, { rooms: 'all' }))
  ledger
    .command('adopt')
    .description('go on although the last signed checkpoint is lost; only if you know that this database is the newest')
    .option('--new-log', 'go on with an older copy, because the newest is lost; the log gets another name')
    .action((options: { newLog?: boolean }, command: Command) =>
      options.newLog === true ? adoptAsNewLog(command) : offline(command, adopt, { state: 'even-refusing' }),
    )
}

async function rebuild(log: Ledger): Promise<CommandAnswer> {
  await log.rebuild()
  return { json: { ok: true, size: log.size() }, text: `The tables were rebuilt from ${log.size()} entries.` }
}

async function adopt(log: Ledger): Promise<CommandAnswer> {
  if (log.state().kind === 'sound') return { json: { ok: true }, text: NOTHING_TO_ADOPT_MESSAGE }
  const adopted = await log.adopt()
  if (!adopted.ok) return refusal(adopted.fault)
  return {
    json: { ok: true },
    text: `Adopted and signed at ${adopted.value.checkpoint.size} entries. The ledger records that this was done.\nIf a witness or another node has seen more than these, the ledger refuses entries again as soon as it learns of it.`,
  }
}

async function adoptAsNewLog(command: Command): Promise<void> {
  const config = readCommandConfig(command)
  if (config === undefined) return
  const begun = await startSuccessorLog(readDataRoot(command), config)
  if (!begun.ok) return printAnswer(command, createFailureAnswer(begun.fault, EXIT_CODES.integrity))
  const { entries, key } = begun.value
  const vkey = formatVerifierKey(key)
  const text = [
    `Adopted as ${key.name} and signed at ${entries} entries. The ledger records that this was done.`,
    'The entries after this copy are lost; anybody who kept a checkpoint of them can still show that they were signed.',
    'Tokens, approvals and tasks are as the copy has them: revoke again what was revoked since (hearthbus token list).',
    `Nodes of a community accept the new log by themselves. Whoever runs a witness for this node has to name its key: --log ${vkey}`,
  ].join('\n')
  printAnswer(command, { json: { ok: true, origin: key.name, entries, vkey }, text })
}

function seqArgument(): Argument {
  return new Argument('<seq>', 'number of the entry').argParser(createWholeNumberParser(0, Number.MAX_SAFE_INTEGER))
}

async function showEntry(command: Command, seq: number): Promise<void> {
  const running = findRunningGateway(readGlobalOptions(command))
  const entry = await readEntryBytes(running.ok ? running.value.dataRoot : readDataRoot(command), seq)
  if (!entry.ok) return printAnswer(command, createFailureAnswer(entry.fault, EXIT_CODES.failed))
  printAnswer(command, textAnswer(new TextDecoder().decode(entry.value)))
}

async function signNow(command: Command): Promise<void> {
  if (findRunningGateway(readGlobalOptions(command)).ok)
    return fetchAndPrintGatewayAnswer(
      command,
      { method: 'POST', path: '/api/ledger/checkpoint', asOwner: true },
      (value) => textAnswer(value),
    )
  await offline(command, async (ledger) => {
    const signed = await ledger.checkpoint()
    return signed.ok ? textAnswer(formatSignedCheckpoint(signed.value)) : refusal(signed.fault)
  })
}

async function prove(command: Command, seq: number, withBody: boolean): Promise<void> {
  if (findRunningGateway(readGlobalOptions(command)).ok)
    return fetchAndPrintGatewayAnswer(
      command,
      // Only an admin is shown what entries commit to.
      withBody
        ? { path: `/api/ledger/proof/${seq}?with_body=true`, asOwner: true }
        : { path: `/api/ledger/proof/${seq}` },
      (value) => textAnswer(value),
    )
  await offline(command, async (ledger) => {
    const proof = await ledger.proofText(seq, { withBody })
    return proof.ok ? textAnswer(proof.value) : refusal(proof.fault)
  })
}

async function showKey(command: Command): Promise<void> {
  const config = readCommandConfig(command)
  if (config === undefined) return
  const running = findRunningGateway(readGlobalOptions(command))
  const root = running.ok ? running.value.dataRoot : readDataRoot(command)
  const key = await readVerifierKey(root, config)
  if (!key.ok) return printAnswer(command, createFailureAnswer(key.fault, EXIT_CODES.integrity))
  const vkey = formatVerifierKey(key.value)
  printAnswer(command, { json: { vkey }, text: vkey })
}

async function exportTo(command: Command, folder: string, withBodies: boolean): Promise<void> {
  if (findRunningGateway(readGlobalOptions(command)).ok)
    return fetchAndPrintGatewayAnswer(
      command,
      {
        method: 'POST',
        path: '/api/ledger/export',
        body: { folder, with_bodies: withBodies },
        asOwner: true,
        mayTakeLong: true,
      },
      (value) => ({ json: value, text: exportSentence(value as unknown as ExportView, folder) }),
    )
  await offline(command, async (ledger) => {
    const exported = await ledger.exportTo(folder, { withBodies })
    if (!exported.ok) return refusal(exported.fault)
    const view: ExportView = { ...exported.value, vkey: formatVerifierKey(ledger.verifierKey) }
    return { json: { ...view }, text: exportSentence(view, folder) }
  })
}

async function erase(command: Command, entries: readonly number[], reason: string): Promise<void> {
  const request = bodyErasureRequestSchema.safeParse({ entries, reason })
  if (!request.success)
    return command.error(request.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '), {
      exitCode: EXIT_CODES.usage,
    })
  if (findRunningGateway(readGlobalOptions(command)).ok)
    return fetchAndPrintGatewayAnswer(
      command,
      { method: 'POST', path: '/api/ledger/erase', body: request.data, asOwner: true, mayTakeLong: true },
      (value) => erasureAnswer(value as unknown as ErasureResultView),
    )
  await offline(
    command,
    async (log) =>
      erasureAnswer(
        await eraseLedgerEntryBodies(log, request.data.entries, {
          reason: request.data.reason,
          by: OWNER_PRINCIPAL.id,
        }),
      ),
    { rooms: 'all' },
  )
}

function erasureAnswer(view: ErasureResultView): CommandAnswer {
  const lines = view.erased.map(({ entry, recorded, blanked }) => {
    const rows = blanked.map(({ what, id }) => `, and in the ${what} ${id}`).join('')
    return `The words of entry ${entry} are erased${rows}. Entry ${recorded} says so.`
  })
  const also = [
    ...(view.also.length === 0 ? [] : [`The same words are still in: ${view.also.join(' ')}.`]),
    ...(view.stays.length === 0 ? [] : [`The log itself has them, for good, in: ${view.stays.join(' ')}.`]),
    ...(view.tables.length === 0 ? [] : [`They are also in the tables: ${view.tables.join(', ')}.`]),
    ...(view.altered.length === 0
      ? []
      : [
          `What was stored beside these entries is not what they commit to, so their words may be elsewhere: ${view.altered.join(' ')}. Run hearthbus ledger verify.`,
        ]),
  ]
  const json = JSON.parse(JSON.stringify({ ok: view.refused === null, ...view })) as Json
  const exit = view.altered.length === 0 ? {} : { exit: EXIT_CODES.integrity }
  if (view.refused === null) return { json, text: [...lines, ...also].join('\n'), ...exit }
  return { json, text: [...lines, ...also, view.refused].join('\n'), exit: EXIT_CODES.failed }
}

interface ExportView {
  readonly size: number
  readonly files: number
  readonly vkey: string
}

function exportSentence({ size, files, vkey }: ExportView, folder: string): string {
  return `${size} entries in ${folder} (${files} files written).\nAnybody can check the copy with:\n  hearthbus ledger verify --export ${folder} --vkey ${vkey}`
}

async function offline(
  command: Command,
  work: (ledger: Ledger) => Promise<CommandAnswer>,
  place: Pick<Partial<OfflineLedgerOptions>, 'state' | 'rooms'> = {},
): Promise<void> {
  const config = readCommandConfig(command)
  if (config === undefined) return
  const here = { dataRoot: readDataRoot(command), config, state: 'sound' } as const
  const done = await withOfflineLedger({ ...here, ...place }, work)
  printAnswer(command, done.ok ? done.value : createFailureAnswer(done.fault, EXIT_CODES.integrity))
}

function textAnswer(text: Json): CommandAnswer {
  return { json: text, text: typeof text === 'string' ? text.trimEnd() : JSON.stringify(text) }
}

function refusal(fault: Parameters<typeof formatLedgerOperationFault>[0]): CommandAnswer {
  const message = formatLedgerOperationFault(fault)
  return {
    json: { ok: false, fault: fault.kind, message },
    text: message,
    exit: ASKED_WRONGLY.has(fault.kind) ? EXIT_CODES.failed : EXIT_CODES.integrity,
  }
}

/** These faults do not mean that the ledger has a defect. */
const ASKED_WRONGLY: ReadonlySet<string> = new Set(['no-such-entry', 'export-diverged', 'export-unwritable'])
