/**
 * Doctor: what is wrong and what to do about it, in sentences.
 *
 * Pure: findings from facts. The CLI gathers the facts from outside, a running node from inside.
 */
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { explainListenerWithoutToken } from './listener-server.ts'

export interface NodeExaminationFacts {
  readonly nodeVersion: string
  readonly dataRoot: string
  readonly configProblems: readonly string[]
  readonly configFile: string | undefined
  /** Environment variables that are set and have no effect. */
  readonly configNotes?: readonly string[]
  /** Keys in the file that are set and have no effect. */
  readonly idleSettings?: readonly string[]
  /** Rules and profiles that match nothing (unmatched-patterns.ts). */
  readonly unmatched?: readonly string[]
  /** Capabilities whose providers disagree (contract-disagreement-text.ts). */
  readonly disagreements?: readonly string[]
  /** Why a gateway cannot use the data directory. */
  readonly dataTrouble?: string | undefined
  readonly freeBytes: number
  /** Files that others could read although they must not, with their modes. */
  readonly looseKeys: readonly { readonly path: string; readonly mode: string }[]
  /** `unproven`: why nothing is sent to the program at that address. */
  readonly gateway: { readonly url: string; readonly answers: boolean; readonly unproven?: string } | undefined
  /** Why a start could not open the listener for agents and people, when no gateway is running. */
  readonly listenerFaults: readonly string[]
  /** The address that would be open to others without any token; known while no gateway runs. */
  readonly openWithoutToken?: string | undefined
  /**
   * `note` says what could not be compared. `undefined`: there is no ledger. `unknown`: its name is not known without a
   * configuration.
   */
  readonly ledger:
    | { readonly entries: number; readonly findings: readonly string[]; readonly note?: string | undefined }
    | 'unknown'
    | undefined
  /** Witnesses that were configured, and how many of them cosigned the newest checkpoint. */
  readonly cosigning?: { readonly witnesses: number; readonly cosignatures: number; readonly everySeconds: number }
  /** What the examinations of the services found. */
  readonly services: readonly DoctorFinding[]
  /** Why the next start will be refused, when no gateway is running. */
  readonly startRefusals?: readonly string[]
}

const LOW_DISK_BYTES = 1_000_000_000
/** Less than the ledger and its tables need for an hour of calls. */
const SHORT_DISK_BYTES = 16_000_000
/** Less than a first start needs: on a file system of 1 MiB it succeeds, on one of 300 KiB it does not. */
const FULL_DISK_BYTES = 1_000_000

export function diagnoseDoctorFacts(facts: NodeExaminationFacts): readonly DoctorFinding[] {
  const before = [nodeFinding(facts), ...configFindings(facts), dataFinding(facts), ...keyFindings(facts)]
  const after = [
    ...facts.listenerFaults.map((sentence) => refusal('listener', sentence)),
    ...(facts.startRefusals ?? []).map((sentence) => refusal('start', sentence)),
    ...ledgerFindings(facts),
    ...cosigningFindings(facts),
    ...(facts.unmatched ?? []).map((sentence) => toFinding('warn', 'rules and profiles', sentence)),
    ...(facts.disagreements ?? []).map((sentence) => toFinding('warn', 'nodes', sentence)),
    ...facts.services,
  ]
  return [...before, gatewayFinding(facts, [...before, ...after]), ...after]
}

function toFinding(level: DoctorFinding['level'], about: string, sentence: string): DoctorFinding {
  return { level, about, sentence }
}

function refusal(about: string, sentence: string): DoctorFinding {
  return { level: 'fail', about, sentence, refusesStart: true }
}

function keyFindings({ looseKeys }: NodeExaminationFacts): readonly DoctorFinding[] {
  return looseKeys.map(({ path, mode }) =>
    refusal('keys', `${path} has mode ${mode}; others can read it. Run: chmod 600 ${path}`),
  )
}

function nodeFinding({ nodeVersion }: NodeExaminationFacts): DoctorFinding {
  const major = Number(/^v?(\d+)/.exec(nodeVersion)?.[1])
  return major >= 24
    ? toFinding('ok', 'node', `${nodeVersion} will do.`)
    : refusal(
        'node',
        `${nodeVersion} is too old; Hearthbus needs 24. In a clone, npm start uses the right one by itself.`,
      )
}

function configFindings({
  configProblems,
  configFile,
  configNotes = [],
  idleSettings = [],
}: NodeExaminationFacts): readonly DoctorFinding[] {
  if (configProblems.length > 0) return configProblems.map((sentence) => refusal('configuration', sentence))
  return [
    ...configNotes.map((sentence) => toFinding('warn', 'environment', `${sentence}.`)),
    ...idleSettings.map((sentence) => toFinding('warn', 'configuration', `${sentence}.`)),
    toFinding(
      'ok',
      'configuration',
      configFile === undefined
        ? 'no file, so everything has its default. `hearthbus init` writes one.'
        : `${configFile} is valid.`,
    ),
  ]
}

function dataFinding({ dataRoot, dataTrouble, freeBytes }: NodeExaminationFacts): DoctorFinding {
  if (dataTrouble !== undefined) return refusal('data', `${dataTrouble} Or set HEARTHBUS_DATA to another directory.`)
  const free = `${(freeBytes / 1e9).toFixed(1)} GB free`
  if (freeBytes < FULL_DISK_BYTES)
    return refusal(
      'data',
      `The disk that holds ${dataRoot} is full. Make room and start again: without it no call can be recorded, and every call is refused.`,
    )
  if (freeBytes < SHORT_DISK_BYTES)
    return toFinding(
      'fail',
      'data',
      `${dataRoot} has only ${(freeBytes / 1e6).toFixed(1)} MB free, not enough for an hour of calls. Make room: when it is full every call is refused, because none can be recorded.`,
    )
  if (freeBytes < LOW_DISK_BYTES)
    return toFinding(
      'warn',
      'data',
      `${dataRoot} has only ${free}; when it is full every call is refused, because none can be recorded.`,
    )
  return toFinding('ok', 'data', `${dataRoot}, ${free}.`)
}

function gatewayFinding(
  { gateway, openWithoutToken }: NodeExaminationFacts,
  others: readonly DoctorFinding[],
): DoctorFinding {
  const about = 'gateway'
  if (gateway?.answers === true) return toFinding('ok', about, `answers at ${gateway.url}.`)
  if (gateway?.unproven !== undefined) return toFinding('fail', about, gateway.unproven)
  if (gateway !== undefined)
    return toFinding(
      'fail',
      about,
      `its process runs, but ${gateway.url} does not answer. Stop it and start it again; its log says more.`,
    )
  if (openWithoutToken !== undefined)
    return refusal(about, `none would start. ${explainListenerWithoutToken(openWithoutToken)}`)
  const refusing = [...new Set(others.filter(({ refusesStart }) => refusesStart).map((finding) => finding.about))]
  return toFinding(
    'warn',
    about,
    refusing.length === 0
      ? 'none runs. Start one with `hearthbus up`.'
      : `none runs, and none would start, because of: ${refusing.join(', ')}.`,
  )
}

function cosigningFindings({ cosigning }: NodeExaminationFacts): readonly DoctorFinding[] {
  if (cosigning === undefined || cosigning.witnesses === 0) return []
  const { witnesses, cosignatures, everySeconds } = cosigning
  const count = `${cosignatures} of ${witnesses} witnesses have cosigned the newest checkpoint`
  if (cosignatures >= witnesses) return [toFinding('ok', 'witnesses', `${count}.`)]
  return [
    toFinding(
      'warn',
      'witnesses',
      `${count}. They are asked every ${everySeconds} s; if it stays so, are they running, and do they know the key that \`hearthbus ledger key\` prints? The gateway's log says why.`,
    ),
  ]
}

function ledgerFindings({ ledger }: NodeExaminationFacts): readonly DoctorFinding[] {
  const about = 'ledger'
  if (ledger === undefined) return [toFinding('ok', about, 'not begun yet.')]
  if (ledger === 'unknown') return [toFinding('warn', about, 'not checked, because the configuration cannot be read.')]
  if (ledger.findings.length === 0)
    return [
      toFinding('ok', about, `${ledger.entries} entries, all re-derived and in order.`),
      ...(ledger.note === undefined ? [] : [toFinding('warn', about, ledger.note)]),
    ]
  return ledger.findings.map((sentence) => toFinding('fail', about, sentence))
}
