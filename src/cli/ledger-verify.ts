/**
 * Ledger verify: the command that checks the log, an exported copy of it, or the proof of one entry.
 *
 * Pure: ledger-verification-store.ts, read-only-ledger-store.ts and proof-file-store.ts read the files.
 */
import type { Command } from 'commander'
import { resolveDemoDataRoot } from '../config/data-directory.ts'
import { toHex } from '../core/bytes.ts'
import { omitUndefined } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatCheckpointFault, verifyAndParseCheckpoint } from '../ledger/checkpoint.ts'
import type { SignedCheckpoint } from '../ledger/checkpoint.ts'
import { formatLedgerFinding, formatUncheckedParts } from '../ledger/ledger-finding.ts'
import type { LogVerificationReport } from '../ledger/log-verification.ts'
import { formatMissingPin } from '../ledger/ledger-state.ts'
import { parseVerifierKey } from '../ledger/note-key.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { verifyCommitmentOpening } from '../ledger/body-opening.ts'
import { createLogOnlyPolicy } from '../ledger/tlog-policy.ts'
import type { WitnessPolicy } from '../ledger/tlog-policy.ts'
import { parseTlogProof, verifyTlogProof } from '../ledger/tlog-proof.ts'
import type { TlogProofFault } from '../ledger/tlog-proof.ts'
import { readCommandConfig, readDataRoot, readGlobalOptions, printAnswer } from './command-client.ts'
import { findRunningGateway } from './gateway-client.ts'
import { readFileBytes, readWitnessPolicyFile, readProofAndEntryFiles } from './proof-file-store.ts'
import { readVerifierKey } from './read-only-ledger-store.ts'
import { verifyExport, verifyDataDirectoryLedger } from './ledger-verification-store.ts'
import { verifyAuditPacketFile } from './audit-packet-client.ts'
import { runLedgerSampleCommand } from './ledger-sample-client.ts'
import { EXIT_CODES, createFailureAnswer } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

interface VerifyOptions {
  readonly export?: string
  readonly proof?: string
  readonly bundle?: string
  readonly entry?: string
  readonly vkey?: string
  readonly policy?: string
  readonly checkpoint?: string
  readonly sample?: true
}

export function addVerifyCommand(ledger: Command): void {
  ledger
    .command('verify')
    .description('re-derive everything from the stored bytes, or from an exported copy')
    .option('--export <folder>', 'check an exported copy, with no database')
    .option('--sample', 'look only at some entries, drawn so that nobody chooses them and anybody can check the draw')
    .option('--bundle <file>', 'check a packet that `ledger bundle` or audit_export made')
    .option('--proof <file>', 'check a proof, with the entry that it is about')
    .option('--entry <file>', 'that entry, as `ledger entry` prints it')
    .option('--checkpoint <file>', 'one that was kept elsewhere: the log, or the copy, has to extend it')
    .option('--vkey <key>', 'the log’s public key, for a copy, a bundle or a proof')
    .option(
      '--policy <file>',
      'instead of --vkey: which logs are trusted, and who has to have cosigned (C2SP tlog-policy)',
    )
    .action((options: VerifyOptions, command: Command) => {
      if (options.sample === true && options.export === undefined) return runLedgerSampleCommand(command)
      if (options.sample === true)
        return command.error('Only the node’s own key draws: --sample is for a data directory, not for a copy.', {
          exitCode: EXIT_CODES.usage,
        })
      if (options.proof !== undefined) return verifyProof(command, options)
      if (options.entry !== undefined) return command.error(ENTRY_NEEDS, { exitCode: EXIT_CODES.usage })
      if (options.bundle !== undefined) return verifyPacket(command, options.bundle, options)
      return options.export === undefined ? verifyHere(command, options) : verifyCopy(command, options.export, options)
    })
}

async function verifyHere(command: Command, { checkpoint }: VerifyOptions): Promise<void> {
  const config = readCommandConfig(command)
  if (config === undefined) return
  const running = findRunningGateway(readGlobalOptions(command))
  const root = running.ok ? running.value.dataRoot : readDataRoot(command)
  const key = checkpoint === undefined ? undefined : await readVerifierKey(root, config)
  const saved = await readSavedCheckpoints(checkpoint, key?.ok === true ? key.value : undefined)
  if (!saved.ok) return command.error(saved.fault, { exitCode: EXIT_CODES.usage })
  const report = await verifyDataDirectoryLedger(root, config, { known: saved.value })
  if (!report.ok) return printAnswer(command, createFailureAnswer(report.fault, EXIT_CODES.integrity))
  const { root: hash, pinPath } = report.value
  // The demo's data is thrown away, so it never has a pin.
  const isDemo = root === resolveDemoDataRoot(readDataRoot(command))
  const note = isDemo || pinPath === undefined ? undefined : formatMissingPin(pinPath)
  printAnswer(command, reportAnswer(report.value, { about: hash === undefined ? '' : `, root ${toHex(hash)}`, note }))
}

async function verifyPacket(command: Command, file: string, { vkey, checkpoint }: VerifyOptions): Promise<void> {
  const key = parseVerifierKey(vkey ?? '')
  if (!key.ok)
    return command.error(`--vkey is needed to check a bundle: the log’s public key. (${key.fault.reason})`, {
      exitCode: EXIT_CODES.usage,
    })
  const saved = await readSavedCheckpoints(checkpoint, key.value)
  if (!saved.ok) return command.error(saved.fault, { exitCode: EXIT_CODES.usage })
  return verifyAuditPacketFile(command, file, { key: key.value, kept: saved.value[0] })
}

async function verifyCopy(command: Command, folder: string, { vkey, checkpoint }: VerifyOptions): Promise<void> {
  const key = parseVerifierKey(vkey ?? '')
  if (!key.ok) {
    const text = `--vkey is needed to check a copy: the line that \`hearthbus ledger export\` printed. (${key.fault.reason})`
    return printAnswer(command, createFailureAnswer(text, EXIT_CODES.usage))
  }
  const saved = await readSavedCheckpoints(checkpoint, key.value)
  if (!saved.ok) return command.error(saved.fault, { exitCode: EXIT_CODES.usage })
  const report = await verifyExport(folder, key.value, { known: saved.value })
  printAnswer(command, reportAnswer(report, { about: `, signed by ${key.value.name}` }))
}

/** Checkpoints that were saved elsewhere, each with the log's signature. The fault is a sentence. */
async function readSavedCheckpoints(
  path: string | undefined,
  key: NoteVerifier | undefined,
): Promise<Result<readonly SignedCheckpoint[], string>> {
  if (path === undefined) return ok([])
  const text = await readFileBytes(path)
  if (!text.ok) return text
  if (key === undefined) return fail('The key of the log cannot be read, so its checkpoint cannot be checked.')
  const opened = verifyAndParseCheckpoint(text.value, key)
  return opened.ok
    ? ok([opened.value])
    : fail(`${path} is not a checkpoint of this log: ${formatCheckpointFault(opened.fault)}.`)
}

async function verifyProof(command: Command, { proof = '', entry, vkey, policy }: VerifyOptions): Promise<void> {
  const trusted = policy === undefined ? keyPolicy(vkey) : await readWitnessPolicyFile(policy)
  if (!trusted.ok || entry === undefined)
    return command.error(trusted.ok ? PROOF_NEEDS : trusted.fault, { exitCode: EXIT_CODES.usage })
  const read = await readProofAndEntryFiles(proof, entry)
  if (!read.ok) return command.error(read.fault, { exitCode: EXIT_CODES.usage })
  const verified = verifyTlogProof(read.value.text, read.value.bytes, trusted.value)
  if (!verified.ok) {
    const text = `This does not prove it: ${PROOF_FAULTS[verified.fault.kind]}.`
    return printAnswer(command, { json: { ok: false, fault: verified.fault.kind }, text, exit: EXIT_CODES.integrity })
  }
  const { origin, size } = verified.value.checkpoint.checkpoint
  const parsed = parseTlogProof(read.value.text)
  const extra = parsed.ok ? parsed.value.extra : undefined
  const sentence = `The entry is in ${origin}, as it was signed at ${size} entries.`
  if (extra === undefined) return printAnswer(command, { json: { ok: true, origin, size }, text: sentence })
  const body = verifyCommitmentOpening(extra, read.value.bytes)
  if (!body.ok) {
    const text = `${sentence} But the content that came with the proof is not what the entry commits to.`
    return printAnswer(command, { json: { ok: false, fault: body.fault }, text, exit: EXIT_CODES.integrity })
  }
  const text = `${sentence} It commits to:\n${JSON.stringify(body.value, undefined, 2)}`
  printAnswer(command, { json: { ok: true, origin, size, body: body.value }, text })
}

const ENTRY_NEEDS = 'An entry is checked against its proof: --proof FILE (hearthbus ledger proof).'
const PROOF_NEEDS =
  'A proof needs --entry FILE (hearthbus ledger entry) and --vkey KEY (hearthbus ledger key) or --policy FILE.'

function keyPolicy(vkey: string | undefined): Result<WitnessPolicy, string> {
  const key = parseVerifierKey(vkey ?? '')
  return key.ok ? ok(createLogOnlyPolicy(key.value)) : fail(PROOF_NEEDS)
}

const PROOF_FAULTS: Readonly<Record<TlogProofFault['kind'], string>> = {
  'malformed-proof': 'it is not a proof, or it is damaged',
  'untrusted-checkpoint': 'its checkpoint is not signed with a key that is trusted',
  'quorum-not-met': 'too few witnesses have cosigned it',
  'not-included': 'it is about another entry',
}

interface ReportRemarks {
  /** The text after the number of entries. */
  readonly about: string
  /** What could not be compared, as a sentence. */
  readonly note?: string | undefined
}

function reportAnswer(
  { size, findings, more, erased, unchecked }: LogVerificationReport,
  { about, note }: ReportRemarks,
): CommandAnswer {
  const sentences = findings.map(formatLedgerFinding)
  const left = [
    ...(unchecked.length === 0 ? [] : [`Not looked at: ${formatUncheckedParts(unchecked)}.`]),
    ...(note === undefined ? [] : [note]),
  ]
  if (findings.length === 0) {
    const gone = erased === 0 ? '' : `, the words of ${erased} erased on request`
    return {
      json: { ok: true, size, findings: [], erased, unchecked: [...unchecked], ...omitUndefined({ note }) },
      text: [`${size} entries, all in order${gone}${about}.`, ...left].join('\n'),
    }
  }
  const rest = more === 0 ? [] : [`… and ${more} more.`]
  return {
    json: { ok: false, size, findings: sentences, more, erased, unchecked: [...unchecked] },
    text: [...sentences, ...rest, ...left].join('\n'),
    exit: EXIT_CODES.integrity,
  }
}
