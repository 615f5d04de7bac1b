/**
 * Witness: a separate process, with its own key and database, that cosigns the checkpoints of logs as long as each log
 * only grows. It should run on another machine, because its value is that it remembers what a log signed.
 *
 *   lock ▸ pin outside of its directory ▸ key ▸ database, compared with the pin ▸ server
 */
import { join } from 'node:path'
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import type { Config } from '../config/schema.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import type { ProcessLock } from '../core/process-lock-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readErrorMessage, readSystemErrorCode } from '../core/thrown-error.ts'
import type { CosignedTreePin } from '../ledger/cosigned-tree-pin-store.ts'
import { formatKeyFault, loadOrCreateNodeKey } from '../ledger/key-store.ts'
import {
  createCosigner,
  ED25519_NOTE_SIGNATURE_TYPE,
  formatVerifierKey,
  isKeyName,
  parseVerifierKey,
} from '../ledger/note-key.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { startWitness } from '../ledger/witness-server.ts'
import { CosignedCheckpointStore, witnessMigrations } from '../ledger/cosigned-checkpoint-store.ts'
import type { LogKeysByOrigin } from '../ledger/witness.ts'
import { explainDataDirectoryTrouble } from '../main/data-directory-trouble.ts'
import { takeLocksOutside } from '../main/gateway-lock-client.ts'
import { locateOutsideLocks, openCosignedTreePin } from '../main/ledger-pin-location-store.ts'
import { EXIT_CODES } from './command-output.ts'
import type { ExitCode } from './command-output.ts'
import { waitForSignal } from './process-signal.ts'
import {
  formatStartedWitness,
  formatWitnessRollback,
  formatWitnessWithoutPin,
  WITNESS_RESTORED_HINT,
} from './witness-text.ts'

export interface WitnessCommandOptions {
  readonly folder: string
  readonly name: string
  readonly host: string
  readonly port: number
  /** Public keys of the logs that it cosigns. */
  readonly logs: readonly string[]
  readonly config: Config
  /** Its owner put an older copy of the directory back: it continues with the trees of the pin. */
  readonly restored: boolean
}

export async function runWitness(command: WitnessCommandOptions): Promise<ExitCode> {
  try {
    return await witness(command)
  } catch (error) {
    if (readSystemErrorCode(error) === 'EADDRINUSE')
      return refuse(`Port ${command.port} belongs to another program. Take another: --port N.`, EXIT_CODES.usage)
    const sentence = explainDataDirectoryTrouble(error, command.folder)
    if (sentence === undefined) throw error
    return refuse(sentence, EXIT_CODES.integrity)
  }
}

async function witness(command: WitnessCommandOptions): Promise<ExitCode> {
  const { folder, name, logs } = command
  if (!isKeyName(name))
    return refuse(`--name ${name}: a name without spaces or plus signs, such as example.com/witness.`, EXIT_CODES.usage)
  const known = new Map<string, NoteVerifier[]>()
  for (const text of logs) {
    const parsed = parseVerifierKey(text)
    if (!parsed.ok) return refuse(`${text} is not a log's key: ${parsed.fault.reason}`, EXIT_CODES.usage)
    if (parsed.value.type !== ED25519_NOTE_SIGNATURE_TYPE)
      return refuse(
        `${text} is not a log's key: it is a witness’s. \`hearthbus ledger key\` prints a log's.`,
        EXIT_CODES.usage,
      )
    // One name may have several keys: a log that was given a new key is still the same log.
    known.set(parsed.value.name, [...(known.get(parsed.value.name) ?? []), parsed.value])
  }
  createPrivateFolder(folder)
  const held: ProcessLock[] = []
  const busy = takeLocksOutside([join(folder, 'witness.lock'), ...locateOutsideLocks(command.config, folder)], held)
  try {
    if (busy !== undefined) return refuse(`A witness runs for ${folder} already (it holds ${busy}).`, EXIT_CODES.usage)
    return await serve(command, known)
  } finally {
    for (const lock of held) lock.release()
  }
}

async function serve(
  { folder, name, host, port, config, restored }: WitnessCommandOptions,
  known: LogKeysByOrigin,
): Promise<ExitCode> {
  const pin = await openPin(config, folder)
  if (!pin.ok) return refuse(pin.fault, EXIT_CODES.integrity)
  const key = await loadOrCreateNodeKey(join(folder, 'witness.key'))
  if (!key.ok) return refuse(formatKeyFault(key.fault), EXIT_CODES.integrity)
  const signer = createCosigner(name, key.value.privateKey, systemClock.now)
  const database = new Database({ path: join(folder, 'witness.db'), migrations: [witnessMigrations], isWhole: true })
  const { path } = pin.value
  const reported = new Set<string>()
  const store = new CosignedCheckpointStore({
    database,
    signer,
    logs: known,
    memory: pin.value,
    onRollback: (log) => {
      if (!restored && !reported.has(log)) process.stderr.write(`${formatWitnessRollback({ folder, path, log })}\n`)
      reported.add(log)
    },
  })
  try {
    const [log] = store.findRolledBack()
    if (log !== undefined && !restored)
      return refuse(`${formatWitnessRollback({ folder, path, log })} ${WITNESS_RESTORED_HINT}`, EXIT_CODES.integrity)
    await pin.value.write()
    if (pin.value.trouble !== undefined) process.stderr.write(`${formatWitnessWithoutPin(path, pin.value.trouble)}\n`)
    const server = await startWitness(store, { host, port })
    const vkey = formatVerifierKey(signer.key)
    process.stdout.write(formatStartedWitness({ host, url: server.url, vkey, logs: [...known.keys()] }))
    await waitForSignal()
    await server.close()
  } finally {
    database.close()
  }
  return EXIT_CODES.ok
}

/** The fault is a sentence. */
async function openPin(config: Config, folder: string): Promise<Result<CosignedTreePin, string>> {
  try {
    return ok(await openCosignedTreePin(config, folder))
  } catch (error) {
    return fail(readErrorMessage(error))
  }
}

function refuse(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`${message}\n`)
  return code
}
