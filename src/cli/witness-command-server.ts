/**
 * Witness: a separate process, with its own key and database, that cosigns the checkpoints of logs as long as each log
 * only grows. It should run on another machine, because its value is that it remembers what a log signed.
 */
import { join } from 'node:path'
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'
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
import { WitnessStore, witnessMigrations } from '../ledger/witness-store.ts'
import { explainDataDirectoryTrouble } from '../main/data-directory-trouble.ts'
import { EXIT_CODES } from './command-output.ts'
import type { ExitCode } from './command-output.ts'
import { waitForSignal } from './process-signal.ts'
import { formatStartedWitness } from './witness-text.ts'

export interface WitnessCommandOptions {
  readonly folder: string
  readonly name: string
  readonly host: string
  readonly port: number
  /** Public keys of the logs that it cosigns. */
  readonly logs: readonly string[]
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

async function witness({ folder, name, host, port, logs }: WitnessCommandOptions): Promise<ExitCode> {
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
  const key = await loadOrCreateNodeKey(join(folder, 'witness.key'))
  if (!key.ok) return refuse(formatKeyFault(key.fault), EXIT_CODES.integrity)
  const signer = createCosigner(name, key.value.privateKey, systemClock.now)
  const database = new Database({ path: join(folder, 'witness.db'), migrations: [witnessMigrations], isWhole: true })
  const server = await startWitness(new WitnessStore({ database, signer, logs: known }), { host, port })
  const vkey = formatVerifierKey(signer.key)
  process.stdout.write(formatStartedWitness({ host, url: server.url, vkey, logs: [...known.keys()] }))
  await waitForSignal()
  await server.close()
  database.close()
  return EXIT_CODES.ok
}

function refuse(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`${message}\n`)
  return code
}
