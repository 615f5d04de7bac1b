/**
 * HomeSeer: a HomeSeer HS4 system as one service: the tools, resources and prompts of spec 4.
 *
 *   link (JSON, push, mirror) ▸ catalog ▸ resolver ▸ tools · admin · resources · prompts
 *
 * It starts even if HomeSeer cannot be reached; that is reported as its health.
 *
 * Reads and writes through its link and stores.
 */
import type { Capability, Service } from '../bus/capability.ts'
import type { HomeseerConfig } from '../config/homeseer.ts'
import { readWebhookListener } from '../config/listeners.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { FamilyGuardServices } from '../guard/guard.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { createAdminReadTools, type LastUserListCache } from './admin/admin-read-tools.ts'
import { createAdminResources } from './admin/admin-resources.ts'
import { createAdminTools } from './admin/admin-tools.ts'
import { createRollbackTool } from './admin/rollback-tool.ts'
import { createUnsupportedAdminOperationCache } from './admin/unsupported-operation-cache.ts'
import { createAdminRollbackStore } from './admin/rollback-store.ts'
import { HomeseerCatalogClient } from './catalog/catalog-client.ts'
import { createDeviceExposurePredicate } from './catalog/device-catalog-and-event-consequences.ts'
import { EventDefinitionAdapterClient } from './catalog/event-definition-adapter-client.ts'
import { EventFileReader, type EventDefinitionSource } from './catalog/event-file-store.ts'
import { readAsciiAddress, readJsonClientSettings, type HomeseerConfigWithUrl } from './connection-settings.ts'
import { AliasStore } from './resolve/alias-store.ts'
import type { Alias } from './resolve/alias.ts'
import { DeviceClassOverrideStore } from './catalog/device-class-override-store.ts'
import { createDeviceClassTools } from './tools/device-class-tools.ts'
import { NameResolverCache } from './resolve/name-resolver-cache.ts'
import { startAnnouncingDeviceResources } from './tools/device-resource-announcer.ts'
import { createNumberAllowList } from './tools/allow-list.ts'
import { createAreaSetTool } from './tools/area-set-tool.ts'
import { LateDeviceChangeTracker } from './tools/change-verification-client.ts'
import { createHomeseerAuditReader } from './tools/homeseer-audit-store.ts'
import { readAliasFile } from './tools/alias-file-store.ts'
import { createAuditQueryTool } from './tools/tool-call-log-tool.ts'
import { createCameraPanTool, createCameraReadTools } from './tools/camera-tools.ts'
import { createChangeCommitTool } from './tools/change-commit-tool.ts'
import { createChangePrepareTool } from './tools/change-prepare-tool.ts'
import { createPluginFunctionTool, createPluginListTool, createScriptRunTool } from './tools/plugin-and-script-tools.ts'
import type { OfferLookup, HomeseerToolContext } from './tools/homeseer-tool-context.ts'
import { createDeviceReadTools } from './tools/device-read-tools.ts'
import { createDeviceSetTool } from './tools/device-set-tool.ts'
import { createEventDefinitionTool } from './tools/event-definition-tool.ts'
import { createEventReadTools } from './tools/event-read-tools.ts'
import { createEventRunTool } from './tools/event-run-tool.ts'
import { createHealthTools } from './tools/health-tools.ts'
import { createHelpRouteTool } from './tools/help-tool.ts'
import { createIntentTools } from './tools/intent-tools.ts'
import {
  adviseOnHomeseerLink,
  createHomeseerLinkHealthTracker,
  toHomeseerServiceHealth,
  type HomeseerLinkHealthTracker,
} from './tools/link-health.ts'
import { createHomeseerPrompts } from './tools/prompts.ts'
import { createResolveTools } from './tools/resolve-tools.ts'
import { createHomeseerResource, HOMESEER_RESOURCES } from './tools/resources.ts'
import { readHomeseerChangePolicy } from './tools/change-policy.ts'
import { addIgnoredArgumentsReport } from './tools/homeseer-change.ts'
import { createSpeakTool } from './tools/speak-tool.ts'
import { startWebhookListener, type WebhookListener } from './tools/webhook-listener-server.ts'
import { createHomeseerLink, type HomeseerLink } from './wire/homeseer-link-client.ts'

export interface HomeseerOptions {
  readonly config: HomeseerConfigWithUrl
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
  readonly bus: OfferLookup & { readonly announceResource: (uri: string) => void }
  readonly guard: FamilyGuardServices
  readonly ledger: ProjectionLogWriter & Pick<Ledger, 'listed'>
}

/** Time limits of the ASCII port. */
const ASCII = { pingMs: 60_000, patienceMs: 10_000 } as const
/** A tool has 30 s; these limits are below that, and allow two tries of ten seconds. */
const PATIENCE = { allTriesMs: 25_000, restMs: 5_000 } as const
const HOLDS = { listsHoldMs: 30_000, controlsHoldMs: 600_000 } as const

/** Fails if the file of names cannot be read: the owner's names must not be missing without notice. */
export function createHomeseerService(options: HomeseerOptions): Result<Service, string> {
  const { aliasFile } = options.config
  const aliases = aliasFile === undefined ? ok([]) : readAliasFile(aliasFile)
  return aliases.ok ? ok(homeseerService(options, aliases.value)) : fail(aliases.fault)
}

function homeseerService(options: HomeseerOptions, aliases: readonly Alias[]): Service {
  const { config, logger, bus } = options
  const { url } = config
  const health = createHomeseerLinkHealthTracker({
    away: (attempt) =>
      logger.warn({ url, outcome: attempt.outcome }, adviseOnHomeseerLink(url, attempt) ?? 'HomeSeer is away'),
    back: () => logger.info({ url }, 'HomeSeer answers again'),
    failed: (attempt) => logger.debug(attempt, 'a request to HomeSeer failed'),
  })
  const link = createLink(options, health)
  const homeseer = assemble(options, link, aliases)
  const capabilities = capabilitiesOf(homeseer, options)
  let webhookListener: WebhookListener | undefined
  let webhookFault: string | undefined
  let stopAnnouncing: (() => void) | undefined

  /** If the web hook cannot listen, everything is polled instead, which is slower but equally correct. */
  async function startWebhook(): Promise<void> {
    const { webhook } = link
    if (webhook === undefined) return
    const place = readWebhookListener(config.push)
    const listening = await startWebhookListener(webhook, place)
    if (listening.ok) {
      webhookListener = listening.value
      logger.info({ port: webhookListener.port }, 'the listener for HomeSeer’s web hook is open')
    } else {
      webhookFault = listening.fault
      logger.warn(
        { host: place.host, port: place.port, reason: webhookFault },
        'the listener for HomeSeer’s web hook could not be opened',
      )
    }
  }

  return {
    name: 'homeseer',
    prefixes: ['hs4', 'hs4_', 'hs4:'],
    capabilities: () => capabilities,
    start: async () => {
      link.start()
      stopAnnouncing = startAnnouncingDeviceResources(homeseer, bus.announceResource)
      await startWebhook()
    },
    stop: async () => {
      stopAnnouncing?.()
      await webhookListener?.stop()
      link.close()
    },
    health: () =>
      toHomeseerServiceHealth({
        url: config.url,
        last: health.last(),
        push: link.pushState(),
        webhookFault,
        devices: link.mirror.entries.size,
      }),
    examine: async () => {
      const { examineHomeseer } = await import('./doctor-client.ts')
      const { json, mirror } = link
      const last = health.last()
      // A refusal by HomeSeer is an answer, so the link works.
      const isWell = last !== undefined && adviseOnHomeseerLink(url, last) === undefined
      const reach = {
        ...(isWell ? { outcome: 'ok' as const } : { outcome: undefined, ...last }),
        devices: mirror.entries.size,
      }
      const push = link.pushState()
      return examineHomeseer(config, { json, reach, push, events: homeseer.eventFiles, deaf: webhookFault })
    },
  }
}

function createLink({ config, clock }: HomeseerOptions, health: HomeseerLinkHealthTracker): HomeseerLink {
  const { push, readRetries, readRetryBackoffMs } = config
  const address = readAsciiAddress(config)
  return createHomeseerLink({
    json: {
      ...readJsonClientSettings(config),
      ...PATIENCE,
      readRetries,
      readRetryBackoffMs,
      onAttempt: health.note,
    },
    ascii: address && { ...address, ...ASCII },
    webhookKey: push.webhookKey,
    mirror: { pollMs: push.pollSeconds * 1_000, resyncMs: push.resyncSeconds * 1_000 },
    clock,
  })
}

function assemble(
  options: HomeseerOptions,
  link: HomeseerLink,
  configuredAliases: readonly Alias[],
): HomeseerToolContext {
  const { config, clock, database, bus, guard, ledger } = options
  const learned = config.learnAliases ? new AliasStore(database, ledger) : undefined
  const classes = new DeviceClassOverrideStore(database, ledger, config)
  const catalog = new HomeseerCatalogClient({
    json: link.json,
    mirror: link.mirror,
    clock,
    owner: classes,
    ...HOLDS,
  })
  const none: readonly never[] = []
  const isListed = createNumberAllowList(config.exposeDevices ?? []) ?? (() => false)
  const exposes = createDeviceExposurePredicate({ expose: config.expose, isListed })
  return {
    config,
    rules: readHomeseerChangePolicy(config),
    link,
    catalog,
    resolver: new NameResolverCache({
      catalog,
      configured: configuredAliases,
      learned: () => learned?.all ?? none,
      exposes,
    }),
    configuredAliases,
    learned,
    eventFiles: eventSource(config, link, clock),
    arrivals: new LateDeviceChangeTracker(),
    classes,
    exposes,
    bus,
    guard,
    audit: createHomeseerAuditReader({
      listed: (...query) => ledger.listed(...query),
      body: (seq) => ledger.body(seq),
    }),
    clock,
  }
}

/** Definitions come from files, or a copy of them, unless the owner allows the script on HomeSeer. */
function eventSource(config: HomeseerConfig, link: HomeseerLink, clock: Clock): EventDefinitionSource {
  const { eventsPath: events, eventGroupsPath: groups, knownEventMembers: knownMembers, scriptPage } = config
  if (config.eventsFrom === 'files') return new EventFileReader({ events, groups, knownMembers })
  return new EventDefinitionAdapterClient({
    json: link.json,
    clock,
    scriptPage,
    key: config.admin.adapterKey,
    knownMembers,
  })
}

function capabilitiesOf(
  homeseer: HomeseerToolContext,
  { database, ledger, clock, config }: HomeseerOptions,
): readonly Capability[] {
  const cache = createUnsupportedAdminOperationCache(config.admin.capabilityCacheSeconds * 1_000, clock.monotonic)
  const parts = { homeseer, cache, rollbacks: createAdminRollbackStore(database, ledger) }
  const users = createUsersSeen(clock)
  const changes: readonly Capability[] = [
    createDeviceSetTool(homeseer),
    createEventRunTool(homeseer),
    createScriptRunTool(homeseer),
    createPluginFunctionTool(homeseer),
    createCameraPanTool(homeseer),
    createAreaSetTool(homeseer),
    createSpeakTool(homeseer),
    ...createAdminTools(parts),
    createRollbackTool(homeseer, parts.rollbacks),
  ]
  const preparable = new Map(changes.map((change) => [change.offer.name, change.offer]))
  const tools = [
    ...createHealthTools(homeseer),
    createHelpRouteTool(homeseer),
    ...createResolveTools(homeseer),
    ...createDeviceReadTools(homeseer),
    ...createEventReadTools(homeseer),
    createEventDefinitionTool(homeseer),
    ...createCameraReadTools(homeseer),
    createPluginListTool(homeseer),
    createAuditQueryTool(homeseer),
    ...changes,
    createChangePrepareTool(homeseer, preparable),
    createChangeCommitTool(homeseer, preparable),
    ...createIntentTools(homeseer),
    ...createAdminReadTools(homeseer, users),
  ]
  return [
    ...tools.map(addIgnoredArgumentsReport),
    ...HOMESEER_RESOURCES.map((definition) => createHomeseerResource(homeseer, definition)),
    ...createAdminResources(homeseer, users, cache),
    ...createDeviceClassTools(homeseer),
    ...createHomeseerPrompts(),
  ]
}

function createUsersSeen(clock: Clock): LastUserListCache {
  let last: ReturnType<LastUserListCache['last']>
  return {
    last: () => last,
    note: (users) => {
      last = { users, atMs: clock.now() }
    },
  }
}
