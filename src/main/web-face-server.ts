/**
 * Web face: the face for people: the console at `/`, its API, its event stream, and what they need.
 */
import type { Offer } from '../bus/capability.ts'
import { systemClock } from '../core/clock.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { newUlid } from '../core/ids.ts'
import type { Authenticator } from '../guard/authenticator.ts'
import { listProfileNames } from '../mcp/profile.ts'
import type { StatusView } from '../web/api-requests.ts'
import { createApiHandler } from '../web/api-server.ts'
import {
  MCP_CLIENT_NAMES,
  resolveHearthbusCommand,
  resolveDataAndConfigOptions,
  createClientSnippet,
} from '../web/client-snippet.ts'
import { createConsoleHandler } from '../web/console-server.ts'
import { formatContractDisagreements } from '../web/contract-disagreement-text.ts'
import { diagnoseDoctorFacts } from '../web/doctor.ts'
import { createEventStreamHandler } from '../web/event-stream-server.ts'
import { createEventFeed } from '../web/event-feed.ts'
import { startEventFeed } from '../web/event-feed-publisher.ts'
import { createMeasurementHistory } from '../web/measurement-history.ts'
import { startMeasurementSampling } from '../web/measurement-sampling.ts'
import type { HttpRoute } from '../web/listener-server.ts'
import { explainLedgerDefects, formatSigningOutage } from '../ledger/ledger-state.ts'
import { createConsoleSessions } from '../web/console-sessions.ts'
import { createApiAuthenticator } from '../web/api-authenticator.ts'
import { explainUnmatchedPatterns } from '../web/unmatched-patterns.ts'
import type { SettingsPageView } from '../web/views.ts'
import type { FacesDependencies } from './faces-server.ts'
import { createProfileMembershipTest } from './guard-config.ts'
import { collectDataDirectoryFacts } from './data-directory-check-store.ts'
import { examineRunningServices } from './doctor-examination.ts'

export interface WebFaceHandlers {
  readonly routes: readonly HttpRoute[]
  /** Ends streams and stops timers. */
  readonly stop: () => void
}

export interface WebFaceDependencies {
  readonly authenticate: Authenticator
  readonly status: () => StatusView
  /** Names of the services that a test has shown to be unable to work. */
  readonly probe: () => Promise<readonly string[]>
  readonly tooMany: (caller: string) => string | undefined
}

export function createWebFaceHandlers(parts: FacesDependencies, face: WebFaceDependencies): WebFaceHandlers {
  const { config, spine, logger } = parts
  const { bus } = spine
  const { status, authenticate, probe, tooMany } = face
  const examine = async (): Promise<readonly DoctorFinding[]> => examineRunningServices(parts.reporters, await probe())
  const url = (): string => status().url
  const feed = createEventFeed(newUlid())
  const history = createMeasurementHistory()
  const { idleSeconds, lifeSeconds } = config.console
  const sessions = createConsoleSessions(systemClock, { idleMs: idleSeconds * 1_000, lifeMs: lifeSeconds * 1_000 })
  const authenticator = createApiAuthenticator({
    sessions,
    authenticateToken: authenticate,
    nodeId: bus.nodeId,
    url,
  })
  const profiles = (): Profiles => profilesOf(parts)
  const api = createApiHandler({
    ...spine,
    authenticator,
    feed,
    history,
    status,
    settings: async () => settingsView(parts, status(), await examine()),
    examine,
    profiles,
    maxBodyBytes: config.listen.maxBodyBytes,
    tooMany,
    logger,
  })
  const events = createEventStreamHandler({ feed, authenticator, node: config.node.name })
  const stops = [startEventFeed({ feed, ...spine, status }), startMeasurementSampling({ bus, history, feed, logger })]
  return {
    routes: [
      { prefix: '/api/events', handle: events },
      { prefix: '/api', handle: api },
      { prefix: '/', handle: createConsoleHandler() },
    ],
    stop: () => {
      for (const stop of stops) stop()
      events.close()
    },
  }
}

type Profiles = ReadonlyMap<string, (offer: Offer) => boolean>

function profilesOf({ config, spine, families }: FacesDependencies): Profiles {
  const present = new Set([...families, ...spine.bus.offers().map(({ family }) => family.name)])
  const holds = createProfileMembershipTest(config, present)
  return new Map(
    listProfileNames(config.profiles, present).map((name) => [name, (offer: Offer) => holds(name, offer) === true]),
  )
}

/** The view contains no secrets, because everybody who is signed in at the console may read it. */
function settingsView(
  parts: FacesDependencies,
  status: StatusView,
  services: readonly DoctorFinding[],
): SettingsPageView {
  const { config, version, spine } = parts
  const tools = spine.bus.offers().filter(({ face }) => face.kind === 'tool')
  const command = resolveHearthbusCommand(process.argv[1] ?? '')
  const settings = resolveDataAndConfigOptions(process.argv.slice(2), process.env, process.cwd())
  return {
    node: config.node.name,
    nodeId: spine.bus.nodeId,
    version,
    profiles: [...profilesOf(parts)].map(([name, holds]) => ({
      name,
      tools: tools.filter(holds).length,
      builtIn: !Object.hasOwn(config.profiles, name),
    })),
    clients: MCP_CLIENT_NAMES.map((name) => {
      const facts = { url: status.url, command, settings, profile: 'home', listen: config.listen }
      const { where, what } = createClientSnippet(name, facts)
      return { name, where, snippet: what }
    }),
    findings: findingsOf(parts, status, services),
  }
}

/** The findings that a node can report about itself. Whether the whole ledger is sound, only `verify` can tell. */
function findingsOf(
  { config, data, spine }: FacesDependencies,
  status: StatusView,
  services: readonly DoctorFinding[],
): SettingsPageView['findings'] {
  const { ledger, bus } = spine
  const names = bus.offers().map(({ name }) => name)
  // The configuration is left out because this process has read it; the ledger, because it is reported below from its
  // state, without reading everything again.
  const outside = new Set(['configuration', 'ledger'])
  const outage = ledger.signingOutage()
  const unsound = explainLedgerDefects(ledger.state()) ?? (outage && formatSigningOutage(outage))
  return [
    ...diagnoseDoctorFacts({
      ...collectDataDirectoryFacts(data.root),
      nodeVersion: process.version,
      // A configuration with problems would not have started.
      configProblems: [],
      configFile: undefined,
      // The gateway answers, since it produces this answer, and its port is taken by itself.
      gateway: { url: status.url, answers: true },
      listenerFaults: [],
      ledger: undefined,
      services,
      unmatched: explainUnmatchedPatterns(config, names),
      disagreements: formatContractDisagreements(bus.topologySnapshot()),
    }).filter(({ about }) => !outside.has(about)),
    {
      level: unsound === undefined ? 'ok' : 'fail',
      about: 'ledger',
      sentence: unsound ?? `${ledger.size()} entries. Verify reads all of them again.`,
    },
  ]
}
