/**
 * Doctor: what is wrong and what to do about it, in sentences.
 *
 * Pure: findings from facts. The CLI gathers the facts from outside, a running node from inside.
 */
import { explainMissingToken } from './listener-server.ts'
import type { DoctorFindingView as Finding, StatusView } from './views.ts'

export interface DoctorFacts {
  readonly nodeVersion: string
  readonly dataRoot: string
  readonly configProblems: readonly string[]
  readonly configFile: string | undefined
  /** Environment variables that are set and have no effect. */
  readonly configNotes?: readonly string[]
  /** The same for keys in the file. */
  readonly idleSettings?: readonly string[]
  /** Rules and profiles that match nothing (unmatched-patterns.ts). */
  readonly unmatched?: readonly string[]
  /** Capabilities whose providers disagree (contract-disagreement.ts). */
  readonly disagreements?: readonly string[]
  readonly dataWritable: boolean
  /** The data directory, or a parent of it, is not a folder. */
  readonly dataIsBlocked?: boolean
  readonly freeBytes: number
  /** Files that others could read although they must not, with their modes. */
  readonly looseKeys: readonly { readonly path: string; readonly mode: string }[]
  readonly gateway: { readonly url: string; readonly answers: boolean } | undefined
  /** Listeners that a start could not open, when no gateway is running. */
  readonly listenerFaults: readonly string[]
  /** The address that would be open to others without any token; known while no gateway runs. */
  readonly openWithoutToken?: string | undefined
  /** `undefined`: there is none. `unknown`: its name is not known without a configuration. */
  readonly ledger: { readonly entries: number; readonly findings: readonly string[] } | 'unknown' | undefined
  /** Witnesses that were configured, and how many of them cosigned the newest checkpoint. */
  readonly cosigning?: { readonly witnesses: number; readonly cosignatures: number; readonly everySeconds: number }
  readonly services: readonly ServiceDoctorFacts[]
  /** Why the next start will be refused, when no gateway is running. */
  readonly startRefusals?: readonly string[]
}

export interface ServiceDoctorFacts {
  readonly name: string
  readonly status: string
  readonly advice: string | undefined
}

/**
 * From the health of a running service. A service whose far end is unreachable is only degraded, since the gateway
 * itself works; but the house does not, so the doctor reports a failure.
 */
export function toServiceDoctorFacts({
  name,
  status,
  details,
}: Pick<StatusView['services'][number], 'name' | 'status' | 'details'>): ServiceDoctorFacts {
  const { advice, away } = details
  return { name, status: away === true ? 'failing' : status, advice: typeof advice === 'string' ? advice : undefined }
}

const LOW_DISK_BYTES = 1_000_000_000
/** Less than the ledger and its tables need for an hour of calls. */
const FULL_DISK_BYTES = 16_000_000

export function diagnoseDoctorFacts(facts: DoctorFacts): readonly Finding[] {
  return [
    nodeFinding(facts),
    ...configFindings(facts),
    dataFinding(facts),
    ...facts.looseKeys.map(({ path, mode }): Finding => ({
      level: 'fail',
      about: 'keys',
      sentence: `${path} has mode ${mode}; others can read it. Run: chmod 600 ${path}`,
    })),
    gatewayFinding(facts),
    ...facts.listenerFaults.map((sentence): Finding => ({ level: 'fail', about: 'listener', sentence })),
    ...(facts.startRefusals ?? []).map((sentence): Finding => ({ level: 'fail', about: 'start', sentence })),
    ...ledgerFindings(facts),
    ...cosigningFindings(facts),
    ...(facts.unmatched ?? []).map((sentence): Finding => ({ level: 'warn', about: 'rules and profiles', sentence })),
    ...(facts.disagreements ?? []).map((sentence): Finding => ({ level: 'warn', about: 'nodes', sentence })),
    ...facts.services.map(({ name, status, advice }): Finding => ({
      level: status === 'ok' ? 'ok' : status === 'degraded' ? 'warn' : 'fail',
      about: name,
      sentence: advice ?? `is ${status}.`,
    })),
  ]
}

function nodeFinding({ nodeVersion }: DoctorFacts): Finding {
  const major = Number(/^v?(\d+)/.exec(nodeVersion)?.[1])
  return major >= 24
    ? { level: 'ok', about: 'node', sentence: `${nodeVersion} will do.` }
    : {
        level: 'fail',
        about: 'node',
        sentence: `${nodeVersion} is too old; Hearthbus needs 24. In a clone, npm start uses the right one by itself.`,
      }
}

function configFindings({
  configProblems,
  configFile,
  configNotes = [],
  idleSettings = [],
}: DoctorFacts): readonly Finding[] {
  if (configProblems.length > 0)
    return configProblems.map((sentence): Finding => ({ level: 'fail', about: 'configuration', sentence }))
  return [
    ...configNotes.map((sentence): Finding => ({ level: 'warn', about: 'environment', sentence: `${sentence}.` })),
    ...idleSettings.map((sentence): Finding => ({ level: 'warn', about: 'configuration', sentence: `${sentence}.` })),
    {
      level: 'ok',
      about: 'configuration',
      sentence:
        configFile === undefined
          ? 'no file, so everything has its default. `hearthbus init` writes one.'
          : `${configFile} is valid.`,
    },
  ]
}

function dataFinding({ dataRoot, dataWritable, dataIsBlocked, freeBytes }: DoctorFacts): Finding {
  if (dataIsBlocked === true)
    return {
      level: 'fail',
      about: 'data',
      sentence: `${dataRoot} cannot be the data directory: there is a file in its place, or on the way to it. Move that, or set HEARTHBUS_DATA.`,
    }
  if (!dataWritable)
    return {
      level: 'fail',
      about: 'data',
      sentence: `${dataRoot} cannot be written. Check its owner, or set HEARTHBUS_DATA.`,
    }
  const free = `${(freeBytes / 1e9).toFixed(1)} GB free`
  if (freeBytes < FULL_DISK_BYTES)
    return {
      level: 'fail',
      about: 'data',
      sentence: `${dataRoot} is on a full disk. No call can be recorded, so every call is refused. Make room first.`,
    }
  if (freeBytes < LOW_DISK_BYTES)
    return {
      level: 'warn',
      about: 'data',
      sentence: `${dataRoot} has only ${free}; when it is full every call is refused, because none can be recorded.`,
    }
  return { level: 'ok', about: 'data', sentence: `${dataRoot}, ${free}.` }
}

function gatewayFinding({ gateway, openWithoutToken }: DoctorFacts): Finding {
  if (gateway?.answers === true) return { level: 'ok', about: 'gateway', sentence: `answers at ${gateway.url}.` }
  if (gateway !== undefined)
    return {
      level: 'fail',
      about: 'gateway',
      sentence: `its process lives, but ${gateway.url} does not answer. Stop it and start it again; its log says more.`,
    }
  if (openWithoutToken !== undefined)
    return { level: 'fail', about: 'gateway', sentence: `none would start. ${explainMissingToken(openWithoutToken)}` }
  return { level: 'warn', about: 'gateway', sentence: 'none runs. Start one with `hearthbus up`.' }
}

function cosigningFindings({ cosigning }: DoctorFacts): readonly Finding[] {
  if (cosigning === undefined || cosigning.witnesses === 0) return []
  const { witnesses, cosignatures, everySeconds } = cosigning
  const count = `${cosignatures} of ${witnesses} witnesses have cosigned the newest checkpoint`
  if (cosignatures >= witnesses) return [{ level: 'ok', about: 'witnesses', sentence: `${count}.` }]
  return [
    {
      level: 'warn',
      about: 'witnesses',
      sentence: `${count}. They are asked every ${everySeconds} s; if it stays so, are they running, and do they know the key that \`hearthbus ledger key\` prints? The gateway's log says why.`,
    },
  ]
}

function ledgerFindings({ ledger }: DoctorFacts): readonly Finding[] {
  if (ledger === undefined) return [{ level: 'ok', about: 'ledger', sentence: 'not begun yet.' }]
  if (ledger === 'unknown')
    return [{ level: 'warn', about: 'ledger', sentence: 'not checked, because the configuration cannot be read.' }]
  if (ledger.findings.length === 0)
    return [{ level: 'ok', about: 'ledger', sentence: `${ledger.entries} entries, all re-derived and in order.` }]
  return ledger.findings.map((sentence): Finding => ({ level: 'fail', about: 'ledger', sentence }))
}
