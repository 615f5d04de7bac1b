/**
 * Audit packet: the commands that write an audit packet to a file, and check one without a gateway.
 */
import { readFile, writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { parseJsonOrUndefined, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { explainUnreadableFile, readErrorMessage } from '../core/thrown-error.ts'
import { verifyAuditPacket } from '../ledger/audit-packet.ts'
import type { SignedCheckpoint } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { collectAuditPacket, formatAuditPacketCollectionFault } from '../ledger/audit-packet-collection.ts'
import { formatLedgerOperationFault } from '../ledger/ledger-operation-fault.ts'
import { ledgerProjections } from '../main/ledger-projections.ts'
import { parseSince } from './changes.ts'
import {
  printAnswer,
  readCommandConfig,
  readDataRoot,
  readGlobalOptions,
  readToolDataAsOwner,
} from './command-client.ts'
import { findRunningGateway } from './gateway-client.ts'
import { withOfflineLedger } from './offline-ledger-store.ts'
import { EXIT_CODES, createFailureAnswer, sanitizeForTerminal } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { createWholeNumberParser } from './whole-number.ts'

interface BundleOptions {
  readonly task?: string
  readonly session?: string
  readonly since?: string
  readonly fromSize?: number
}

export function addAuditPacketCommands(ledger: Command): void {
  ledger
    .command('bundle <file>')
    .description('one file about a task, a session or a time, with proofs: for the next agent, or for an auditor')
    .option('--task <id>', 'everything on record about this task')
    .option('--session <id>', 'everything on record about this audit session')
    .option('--since <time>', 'everything but reads from then on: 90m, 12h, 7d, or a date and time', (text) =>
      parseSince(text, Date.now()),
    )
    .option(
      '--from-size <n>',
      'the size of a checkpoint that the reader kept',
      createWholeNumberParser(0, Number.MAX_SAFE_INTEGER),
    )
    .action((file: string, options: BundleOptions, command: Command) => writeBundle(command, file, options))
}

async function writeBundle(command: Command, file: string, options: BundleOptions): Promise<void> {
  const { task, session, since, fromSize } = options
  if ([task, session, since].filter((each) => each !== undefined).length !== 1)
    return command.error('Give exactly one of --task, --session and --since.', { exitCode: EXIT_CODES.usage })
  const scope = {
    ...(task === undefined ? {} : { task_id: task }),
    ...(session === undefined ? {} : { session_id: session }),
    ...(since === undefined ? {} : { since }),
  }
  const packet = findRunningGateway(readGlobalOptions(command)).ok
    ? await readToolDataAsOwner(command, 'audit_export', {
        ...scope,
        ...(fromSize === undefined ? {} : { from_size: fromSize }),
      })
    : await packetHere(command, (ledger) =>
        collectAuditPacket(ledger, scope, { fromSize, mayRead: () => true, mayOpen: () => true }),
      )
  if (packet === undefined) return
  try {
    // Readable by its owner only, because it may contain people's words and the name of their house.
    await writeFile(file, `${JSON.stringify(packet, undefined, 1)}\n`, { mode: 0o600 })
  } catch (error) {
    const text = `${file} cannot be written: ${readErrorMessage(error)}`
    return printAnswer(command, createFailureAnswer(text, EXIT_CODES.failed))
  }
  printAnswer(command, writtenAnswer(file, packet))
}

function writtenAnswer(file: string, packet: JsonObject): CommandAnswer {
  const [entries, leftOut] = [(packet['entries'] as readonly Json[]).length, Number(packet['left_out'])]
  const { verifier_key: vkey } = packet as { readonly verifier_key: string }
  const more = leftOut === 0 ? '' : ` ${leftOut} more belong to it and are not shown to this credential.`
  const text = `${entries} entries in ${file}.${more}\nAnybody can check it with:\n  hearthbus ledger verify --bundle ${file} --vkey ${vkey}`
  return { json: { ok: true, file, entries, left_out: leftOut, vkey }, text: sanitizeForTerminal(text) }
}

async function packetHere(
  command: Command,
  collect: (ledger: Ledger) => ReturnType<typeof collectAuditPacket>,
): Promise<JsonObject | undefined> {
  const config = readCommandConfig(command)
  if (config === undefined) return undefined
  const here = { dataRoot: readDataRoot(command), config, state: 'sound', rooms: 'all' } as const
  const done = await withOfflineLedger(here, collect)
  const failed = (text: string, exit: NonNullable<CommandAnswer['exit']>): undefined => {
    printAnswer(command, createFailureAnswer(text, exit))
  }
  if (!done.ok) return failed(done.fault, EXIT_CODES.integrity)
  if (done.value.ok) return done.value.value
  const { fault } = done.value
  const isCallersMistake =
    fault.kind === 'nothing-found' || fault.kind === 'nothing-signed' || fault.kind === 'too-many'
  return failed(
    isCallersMistake ? formatAuditPacketCollectionFault(fault) : formatLedgerOperationFault(fault),
    EXIT_CODES.failed,
  )
}

/** `kept` was verified with the same key before. */
export async function verifyAuditPacketFile(
  command: Command,
  file: string,
  { key, kept }: { readonly key: NoteVerifier; readonly kept: SignedCheckpoint | undefined },
): Promise<void> {
  const packet = await readPacket(file)
  if (!packet.ok) return command.error(packet.fault, { exitCode: EXIT_CODES.usage })
  const { size, entries, opened, findings } = verifyAuditPacket(packet.value, key, {
    known: kept,
    projections: ledgerProjections,
  })
  const isSound = findings.length === 0
  const from = kept === undefined ? '' : `, which extends the ${kept.checkpoint.size} that were kept`
  const summary = `${entries} entries, ${opened} with their content, of ${key.name} as it was signed at ${size}${from}`
  const text = isSound ? `Sound: ${summary}.` : [...findings, `Not sound: ${summary}.`].join('\n')
  printAnswer(command, {
    json: { ok: isSound, size, entries, opened, findings: [...findings] },
    text: sanitizeForTerminal(text),
    exit: isSound ? EXIT_CODES.ok : EXIT_CODES.integrity,
  })
}

/** A packet as the command wrote it to a file, or as the tool answered it. */
async function readPacket(file: string): Promise<Result<Json, string>> {
  try {
    const value = parseJsonOrUndefined(await readFile(file, 'utf8'))
    if (value === undefined) return fail(`${file} is no JSON.`)
    return ok(isJsonObject(value) && value['ok'] === true ? (value['data'] ?? null) : value)
  } catch (error) {
    return fail(`${file}: ${explainUnreadableFile(error)}`)
  }
}
