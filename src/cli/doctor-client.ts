/**
 * Doctor's facts: what there is to know about a node from outside it.
 */
import { existsSync, statfsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import type { TopologySnapshot } from '../bus/topology.ts'
import { formatConfigProblem } from '../config/config-file.ts'
import { loadConfig } from '../config/config-store.ts'
import { resolveDataDirectory, resolveDataRoot } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { isLoopback } from '../core/loopback.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { formatLedgerFinding } from '../ledger/ledger-finding.ts'
import { FORK_REMEDIES_TEXT } from '../ledger/ledger-fork.ts'
import { parseVerifierKey } from '../ledger/note-key.ts'
import { parseNote, verifyNote } from '../ledger/signed-note.ts'
import { isPathWritable, listLooseKeys } from '../main/own-doctor-facts-store.ts'
import type { DoctorFacts } from '../web/doctor.ts'
import { formatContractDisagreements } from '../web/contract-disagreement.ts'
import { explainUnmatchedPatterns } from '../web/unmatched-patterns.ts'
import type { LedgerView } from '../web/views.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'
import type { RunningGatewayRecord } from './gateway-client.ts'
import { readProjectedState, verifyFiles } from './ledger-files-client.ts'
import { checkListeners } from './listener-check-client.ts'
import { gatherNotifyFacts } from './notify.ts'
import { listStartRefusals } from './start-check-client.ts'

export async function gatherDoctorFacts(given: {
  readonly data?: string
  readonly config?: string
}): Promise<DoctorFacts> {
  const loaded = loadConfig(given.config, process.env, homedir())
  const config = loaded.ok ? loaded.value.config : undefined
  const running = findRunningGateway(given.data)
  // Where the gateway that runs keeps its records: that may be the demo's.
  const root = running.ok ? running.value.dataRoot : resolveDataRoot(given.data, process.env, homedir())
  const status = running.ok ? await requestGateway(running.value, { path: '/api/status' }) : undefined
  return {
    nodeVersion: process.version,
    dataRoot: root,
    configProblems: loaded.ok ? [] : loaded.fault.map(formatConfigProblem),
    configFile: loaded.ok ? loaded.value.path : undefined,
    dataWritable: isPathWritable(nearestExisting(root)),
    dataIsBlocked: !statSync(nearestExisting(root)).isDirectory(),
    freeBytes: freeBytes(root),
    looseKeys: listLooseKeys(resolveDataDirectory(root)),
    gateway: running.ok ? { url: running.value.note.url, answers: status?.ok === true } : undefined,
    listenerFaults: running.ok || config === undefined ? [] : await checkListeners(config),
    openWithoutToken: running.ok || config === undefined ? undefined : openWithoutToken(root, config),
    ledger: config === undefined ? 'unknown' : await ledgerFacts(root, config),
    // A gateway that did not answer once is not asked again: each time somebody would wait.
    ...(running.ok && status?.ok === true && config !== undefined ? await cosigningFacts(running.value, config) : {}),
    ...(running.ok && status?.ok === true && config !== undefined ? await topologyFacts(running.value, config) : {}),
    services:
      running.ok && status?.ok === true
        ? await servicesNow(running.value)
        : [...(await familiesAlone(config, root)), ...gatherNotifyFacts(config?.notify ?? [], process.env)],
    startRefusals: running.ok ? [] : await listStartRefusals(root),
    configNotes: loaded.ok ? loaded.value.notes : [],
    idleSettings: loaded.ok ? loaded.value.idle : [],
  }
}

/** While no gateway runs, nobody has asked the far ends; so the doctor does. */
async function familiesAlone(config: Config | undefined, root: string): Promise<DoctorFacts['services']> {
  if (config === undefined) return []
  const [ebus, homeseer] = await Promise.all([ebusAlone(config, root), homeseerAlone(config)])
  return [...ebus, ...homeseer]
}

async function ebusAlone({ ebus }: Config, root: string): Promise<DoctorFacts['services']> {
  if (ebus.buses.length === 0) return []
  const { examineEbusAlone } = await import('../ebus/doctor-client.ts')
  return (await examineEbusAlone(ebus, root)).map((finding) => ({ name: 'ebus', ...finding }))
}

async function homeseerAlone({ homeseer }: Config): Promise<DoctorFacts['services']> {
  const { url } = homeseer
  if (url === undefined) return []
  const { examineHomeseerAlone } = await import('../homeseer/doctor-client.ts')
  return (await examineHomeseerAlone({ ...homeseer, url })).map((finding) => ({ name: 'homeseer', ...finding }))
}

/** A first start makes the directory, so its parent is what has to be writable. */
function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path))
}

function freeBytes(root: string): number {
  const { bavail, bsize } = statfsSync(nearestExisting(root))
  return bavail * bsize
}

function openWithoutToken(root: string, { listen: { host } }: Config): string | undefined {
  if (isLoopback(host)) return undefined
  const { ledger: path } = resolveDataDirectory(root)
  if (!existsSync(path)) return host
  try {
    return readProjectedState(path, guardProjection).tokens.size > 0 ? undefined : host
  } catch {
    // What is wrong with the database is said of the ledger, which is in it.
    return undefined
  }
}

async function ledgerFacts(root: string, config: Config): Promise<DoctorFacts['ledger']> {
  const { database, lastSigned } = resolveDataDirectory(root)
  if (!existsSync(database)) {
    if (!existsSync(lastSigned)) return undefined
    const gone = `${database} is missing, though this node has signed a ledger (${lastSigned}). Put it back; without it a start is refused.`
    return { entries: 0, findings: [gone] }
  }
  const report = await verifyFiles(root, config)
  if (!report.ok) return { entries: 0, findings: [report.fault] }
  const sentences = report.value.findings.map((finding) =>
    finding.kind === 'tail-missing' || finding.kind === 'root-differs'
      ? `${formatLedgerFinding(finding)} ${FORK_REMEDIES_TEXT}`
      : formatLedgerFinding(finding),
  )
  return { entries: report.value.size, findings: sentences }
}

async function cosigningFacts(
  gateway: RunningGatewayRecord,
  { ledger: { witnesses, checkpointSeconds } }: Config,
): Promise<Pick<DoctorFacts, 'cosigning'>> {
  const answer = await requestGateway(gateway, { path: '/api/ledger' })
  if (!answer.ok) return {}
  const { checkpoint } = answer.value as unknown as LedgerView
  const vkeys = witnesses.map(({ vkey }) => parseVerifierKey(vkey)).flatMap((key) => (key.ok ? [key.value] : []))
  const note = parseNote(checkpoint ?? '')
  const verified = note.ok ? verifyNote(note.value, vkeys) : note
  const cosignatures = verified.ok ? verified.value.length : 0
  return { cosigning: { witnesses: vkeys.length, cosignatures, everySeconds: checkpointSeconds } }
}

/** Only while a gateway runs does anybody know what there is. */
async function topologyFacts(
  gateway: RunningGatewayRecord,
  config: Config,
): Promise<Pick<DoctorFacts, 'unmatched' | 'disagreements'>> {
  const answer = await requestGateway(gateway, { path: '/api/topology' })
  if (!answer.ok) return {}
  const topology = answer.value as unknown as TopologySnapshot
  const names = [...topology.capabilitiesLocal, ...topology.capabilitiesRemote].map(({ name }) => name)
  return { unmatched: explainUnmatchedPatterns(config, names), disagreements: formatContractDisagreements(topology) }
}

/** A running node examines its services itself: it holds the connections that a second one would disturb. */
async function servicesNow(gateway: RunningGatewayRecord): Promise<DoctorFacts['services']> {
  const answer = await requestGateway(gateway, { path: '/api/doctor' })
  return answer.ok ? (answer.value as unknown as Pick<DoctorFacts, 'services'>).services : []
}
