/**
 * People: the face for people. The console at `/`, its API, its stream of events, and what stands behind them.
 */
import type { Offer } from '../bus/capability.ts'
import { systemClock } from '../core/clock.ts'
import { newUlid } from '../core/ids.ts'
import type { Authenticator } from '../guard/authenticate.ts'
import { listProfileNames } from '../mcp/profile.ts'
import type { StatusView } from '../web/api.ts'
import { apiHandler } from '../web/api-server.ts'
import { CLIENTS, resolveOwnCommand, resolveOwnSettings, snippetFor } from '../web/connect.ts'
import { consoleHandler } from '../web/console-server.ts'
import { disagreementSentences } from '../web/disagreement.ts'
import { diagnoseFacts } from '../web/doctor.ts'
import { eventsHandler } from '../web/events-server.ts'
import { createFeed } from '../web/feed.ts'
import { startFeed } from '../web/feed-server.ts'
import { createHistory } from '../web/history.ts'
import { startSampling } from '../web/history-server.ts'
import type { HttpRoute } from '../web/listener-server.ts'
import { ledgerStateSentence } from '../ledger/fork.ts'
import { createConsoleSessions } from '../web/sessions.ts'
import { createSignIn } from '../web/sign-in.ts'
import { explainUnmatchedPatterns } from '../web/unmatched-patterns.ts'
import type { SettingsView } from '../web/views.ts'
import type { FaceParts } from './faces-server.ts'
import { createProfileTest } from './guard-config.ts'
import { gatherSelfFacts } from './self-check-store.ts'

export interface WebFaceHandlers {
  readonly routes: readonly HttpRoute[]
  /** Streams end, timers stop. */
  readonly stop: () => void
}

export interface WebFace {
  readonly authenticate: Authenticator
  readonly status: () => StatusView
  readonly tooMany: (caller: string) => string | undefined
}

export function createWebFace(parts: FaceParts, face: WebFace): WebFaceHandlers {
  const { config, spine, logger } = parts
  const { bus } = spine
  const { status, authenticate, tooMany } = face
  const url = (): string => status().url
  const feed = createFeed(newUlid())
  const history = createHistory()
  const { idleSeconds, lifeSeconds } = config.console
  const sessions = createConsoleSessions(systemClock, { idleMs: idleSeconds * 1_000, lifeMs: lifeSeconds * 1_000 })
  const signIn = createSignIn({ sessions, authenticate, nodeId: bus.nodeId, url })
  const profiles = (): Profiles => profilesOf(parts)
  const api = apiHandler({
    ...spine,
    signIn,
    feed,
    history,
    status,
    settings: async () => settingsView(parts, status()),
    profiles,
    maxBodyBytes: config.listen.maxBodyBytes,
    tooMany,
    logger,
  })
  const events = eventsHandler({ feed, signIn, node: config.node.name })
  const stops = [startFeed({ feed, ...spine, status }), startSampling({ bus, history, feed, logger })]
  return {
    routes: [
      { prefix: '/api/events', handle: events },
      { prefix: '/api', handle: api },
      { prefix: '/', handle: consoleHandler() },
    ],
    stop: () => {
      for (const stop of stops) stop()
      events.close()
    },
  }
}

type Profiles = ReadonlyMap<string, (offer: Offer) => boolean>

function profilesOf({ config, spine, families }: FaceParts): Profiles {
  const present = new Set([...families, ...spine.bus.offers().map(({ family }) => family.name)])
  const holds = createProfileTest(config, present)
  return new Map(
    listProfileNames(config.profiles, present).map((name) => [name, (offer: Offer) => holds(name, offer) === true]),
  )
}

/** Nothing secret is in it: whoever is signed in at the console may read it. */
function settingsView(parts: FaceParts, status: StatusView): SettingsView {
  const { config, version, spine } = parts
  const tools = spine.bus.offers().filter(({ face }) => face.kind === 'tool')
  const command = resolveOwnCommand(process.argv[1] ?? '')
  const settings = resolveOwnSettings(process.argv.slice(2), process.env, process.cwd())
  return {
    node: config.node.name,
    nodeId: spine.bus.nodeId,
    version,
    profiles: [...profilesOf(parts)].map(([name, holds]) => ({
      name,
      tools: tools.filter(holds).length,
      builtIn: !Object.hasOwn(config.profiles, name),
    })),
    clients: CLIENTS.map((name) => {
      const facts = { url: status.url, command, settings, profile: 'home', listen: config.listen }
      const { where, what } = snippetFor(name, facts)
      return { name, where, snippet: what }
    }),
    findings: findingsOf(parts, status),
  }
}

/** What a node can say about itself; whether the whole ledger still holds is for `verify` to find out. */
function findingsOf({ config, data, spine }: FaceParts, status: StatusView): SettingsView['findings'] {
  const { ledger, bus } = spine
  const names = bus.offers().map(({ name }) => name)
  // Configuration: this process has read it. Ledger: said below, from its state, without reading everything again.
  const outside = new Set(['configuration', 'ledger'])
  const unsound = ledgerStateSentence(ledger.state())
  return [
    ...diagnoseFacts({
      ...gatherSelfFacts(data, status),
      unmatched: explainUnmatchedPatterns(config, names),
      disagreements: disagreementSentences(bus.topologySnapshot()),
    }).filter(({ about }) => !outside.has(about)),
    {
      level: unsound === undefined ? 'ok' : 'fail',
      about: 'ledger',
      sentence: unsound ?? `${ledger.size()} entries. Verify reads all of them again.`,
    },
  ]
}
