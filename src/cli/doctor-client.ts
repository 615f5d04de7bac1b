/**
 * Doctor client: gathers the facts about a node from outside of its process.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import type { TopologySnapshot } from '../bus/topology.ts'
import { formatConfigProblem } from '../config/config-file.ts'
import { loadConfig } from '../config/config-file-store.ts'
import { buildDataDirectoryPaths, resolveDataRoot, resolveDemoDataRoot } from '../config/data-directory.ts'
import { readFaceListener } from '../config/listeners.ts'
import type { Config } from '../config/schema.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Json } from '../core/json.ts'
import { isLoopback } from '../core/loopback.ts'
import type { Result } from '../core/result.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { formatLedgerFinding } from '../ledger/ledger-finding.ts'
import { FORK_REMEDIES_TEXT, formatMissingPin } from '../ledger/ledger-state.ts'
import { parseVerifierKey } from '../ledger/note-key.ts'
import { parseNote, verifyNote } from '../ledger/signed-note.ts'
import { collectDataDirectoryFacts } from '../main/data-directory-check-store.ts'
import { findListenFaults } from '../toolbox/listen-check-client.ts'
import { openLedgerPin } from '../main/ledger-pin-location-store.ts'
import type { NodeExaminationFacts } from '../web/doctor.ts'
import { formatContractDisagreements } from '../web/contract-disagreement-text.ts'
import { explainUnmatchedPatterns } from '../web/unmatched-patterns.ts'
import type { LedgerView } from '../web/views.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'
import type { GatewayClientFault, LocatedGateway } from './gateway-client.ts'
import { readProjectedState } from './read-only-ledger-store.ts'
import { verifyDataDirectoryLedger } from './ledger-verification-store.ts'
import { listStartRefusals } from './start-check-client.ts'

export async function gatherDoctorFacts(given: {
  readonly data?: string
  readonly config?: string
}): Promise<NodeExaminationFacts> {
  const loaded = loadConfig(given.config, process.env, homedir())
  const config = loaded.ok ? loaded.value.config : undefined
  const running = findRunningGateway(given)
  // The data directory of the running gateway, which may be the demo's.
  const root = running.ok ? running.value.dataRoot : resolveDataRoot(given.data, process.env, homedir())
  // Whether a start would succeed is examined only while no gateway runs, because a running one has taken its ports.
  const alone = running.ok ? undefined : config
  const listenerFaults = alone === undefined ? [] : await findListenFaults([readFaceListener(alone.listen)])
  const status = running.ok ? await requestGateway(running.value, { path: '/api/status' }) : undefined
  return {
    nodeVersion: process.version,
    ...collectDataDirectoryFacts(root),
    configProblems: loaded.ok ? [] : loaded.fault.map(formatConfigProblem),
    configFile: loaded.ok ? loaded.value.path : undefined,
    gateway: running.ok ? gatewayFacts(running.value, status) : undefined,
    listenerFaults,
    // An address that is not this machine's own cannot be reached by others either.
    openWithoutToken: alone === undefined || listenerFaults.length > 0 ? undefined : openWithoutToken(root, alone),
    ledger: config === undefined ? 'unknown' : await ledgerFacts(root, config, given.data),
    // A gateway that did not answer once is not asked again, because a person would have to wait each time.
    ...(running.ok && status?.ok === true && config !== undefined ? await cosigningFacts(running.value, config) : {}),
    ...(running.ok && status?.ok === true && config !== undefined ? await topologyFacts(running.value, config) : {}),
    services:
      running.ok && status?.ok === true
        ? await servicesNow(running.value)
        : config === undefined
          ? []
          : await servicesBeforeStart(config, root),
    startRefusals: running.ok ? [] : await listStartRefusals(root, config),
    configNotes: loaded.ok ? loaded.value.notes : [],
    idleSettings: loaded.ok ? loaded.value.idle : [],
  }
}

function openWithoutToken(root: string, { listen: { host } }: Config): string | undefined {
  if (isLoopback(host)) return undefined
  const { ledger: path } = buildDataDirectoryPaths(root)
  if (!existsSync(path)) return host
  try {
    return readProjectedState(path, guardProjection).tokens.size > 0 ? undefined : host
  } catch {
    // Defects of the database are reported about the ledger, which is in it.
    return undefined
  }
}

async function ledgerFacts(root: string, config: Config, given?: string): Promise<NodeExaminationFacts['ledger']> {
  const { database, lastSigned } = buildDataDirectoryPaths(root)
  if (!existsSync(database)) {
    const { path, pin } = await openLedgerPin(config, root)
    const known = existsSync(lastSigned) ? lastSigned : pin && path
    if (known === undefined) return undefined
    const gone = `${database} is missing, though this node has signed a ledger (${known}). Restore it; without it the gateway refuses to start.`
    return { entries: 0, findings: [gone] }
  }
  const report = await verifyDataDirectoryLedger(root, config)
  if (!report.ok) return { entries: 0, findings: [report.fault] }
  const sentences = report.value.findings.map((finding) =>
    finding.kind === 'tail-missing' || finding.kind === 'root-differs'
      ? `${formatLedgerFinding(finding)} ${FORK_REMEDIES_TEXT}`
      : formatLedgerFinding(finding),
  )
  const { size: entries, pinPath } = report.value
  // The demo's data is thrown away, so it never has a pin.
  const isDemo = root === resolveDemoDataRoot(resolveDataRoot(given, process.env, homedir()))
  return { entries, findings: sentences, note: isDemo || pinPath === undefined ? undefined : formatMissingPin(pinPath) }
}

function gatewayFacts(
  { note: { url } }: LocatedGateway,
  status: Result<Json, GatewayClientFault> | undefined,
): NodeExaminationFacts['gateway'] {
  if (status?.ok !== false) return { url, answers: status?.ok === true }
  const { fault } = status
  return { url, answers: false, ...(fault.kind === 'unproven' ? { unproven: fault.message } : {}) }
}

async function cosigningFacts(
  gateway: LocatedGateway,
  { ledger: { witnesses, checkpointSeconds } }: Config,
): Promise<Pick<NodeExaminationFacts, 'cosigning'>> {
  const answer = await requestGateway(gateway, { path: '/api/ledger' })
  if (!answer.ok) return {}
  const { checkpoint } = answer.value as unknown as LedgerView
  const vkeys = witnesses.map(({ vkey }) => parseVerifierKey(vkey)).flatMap((key) => (key.ok ? [key.value] : []))
  const note = parseNote(checkpoint ?? '')
  const verified = note.ok ? verifyNote(note.value, vkeys) : note
  const cosignatures = verified.ok ? verified.value.length : 0
  return { cosigning: { witnesses: vkeys.length, cosignatures, everySeconds: checkpointSeconds } }
}

/** Only a running gateway knows which capabilities and nodes there are. */
async function topologyFacts(
  gateway: LocatedGateway,
  config: Config,
): Promise<Pick<NodeExaminationFacts, 'unmatched' | 'disagreements'>> {
  const answer = await requestGateway(gateway, { path: '/api/topology' })
  if (!answer.ok) return {}
  const topology = answer.value as unknown as TopologySnapshot
  const names = [...topology.capabilitiesLocal, ...topology.capabilitiesRemote].map(({ name }) => name)
  return { unmatched: explainUnmatchedPatterns(config, names), disagreements: formatContractDisagreements(topology) }
}

/** Loaded only here, because it imports every module and other commands should not have to. */
async function servicesBeforeStart(config: Config, dataRoot: string): Promise<readonly DoctorFinding[]> {
  const { examineConfiguredServices } = await import('../main/doctor-examination.ts')
  return examineConfiguredServices(config, { dataRoot, environment: process.env })
}

/** A running node examines its services itself: a second process would disturb the connections that it holds. */
async function servicesNow(gateway: LocatedGateway): Promise<readonly DoctorFinding[]> {
  const answer = await requestGateway(gateway, { path: '/api/doctor' })
  return answer.ok ? (answer.value as unknown as { readonly findings: readonly DoctorFinding[] }).findings : []
}
