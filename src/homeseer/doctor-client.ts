/**
 * HomeSeer's doctor: asks what the gateway would ask, while no gateway runs, and says what is in the way.
 *
 * It logs in, reads, and listens for a moment. It changes nothing and runs no code on HomeSeer.
 */
import type { HomeseerConfig } from '../config/homeseer.ts'
import { EventFileStore, type EventFiles } from './catalog/event-file-store.ts'
import { readAliasFile } from './tools/alias-file-store.ts'
import { adviseOnLink, adviseOnPush } from './tools/link-health.ts'
import { AsciiClient, type AsciiState } from './wire/ascii-client.ts'
import { JsonClient, type Credentials } from './wire/json-client.ts'
import { getStatus, getVersion } from './wire/request.ts'

export interface HomeseerFinding {
  readonly status: 'ok' | 'degraded' | 'failing'
  readonly advice: string
}

/** Somebody waits at a keyboard. */
const MAX_WAIT_MS = 5_000
const MAX_REPLY_BYTES = 64 * 1_024 * 1_024

export async function examineHomeseer(
  config: HomeseerConfig & { readonly url: string },
): Promise<readonly HomeseerFinding[]> {
  return [
    ...namesFinding(config),
    await linkFinding(config),
    ...(await pushFinding(config)),
    ...(await eventFilesFinding(config)),
  ]
}

/** The gateway does not start with a file that it cannot read. */
function namesFinding({ aliasFile }: HomeseerConfig): readonly HomeseerFinding[] {
  const names = aliasFile === undefined ? undefined : readAliasFile(aliasFile)
  return names === undefined || names.ok ? [] : [{ status: 'failing', advice: names.fault }]
}

async function linkFinding(config: HomeseerConfig & { readonly url: string }): Promise<HomeseerFinding> {
  const { url, authentication, timeoutMs } = config
  const json = new JsonClient({
    baseUrl: url,
    credentials: credentialsOf(config),
    authentication,
    timeoutMs: Math.min(timeoutMs, MAX_WAIT_MS),
    readRetries: 0,
    readRetryBackoffMs: 0,
    allTriesMs: 0,
    restMs: 0,
    maxReplyBytes: MAX_REPLY_BYTES,
  })
  try {
    const version = await json.call(getVersion())
    const status = version.ok ? await json.call(getStatus({ compress: true, excludeEvents: true })) : version
    if (version.ok && status.ok)
      return {
        status: 'ok',
        advice: `HomeSeer ${version.value} at ${url} answers, with ${status.value.devices.length} devices.`,
      }
    const outcome = status.ok ? 'ok' : status.fault.kind
    return { status: 'failing', advice: adviseOnLink(url, { outcome }) ?? `HomeSeer at ${url} refuses to be read.` }
  } finally {
    json.close()
  }
}

async function pushFinding(
  config: HomeseerConfig & { readonly url: string },
): Promise<readonly [HomeseerFinding] | readonly []> {
  const { asciiPort: port, webhookKey } = config.push
  if (port === undefined)
    return webhookKey === undefined
      ? [
          {
            status: 'degraded',
            advice: 'HomeSeer pushes nothing, so everything is polled. Set homeseer.push.asciiPort.',
          },
        ]
      : []
  const host = new URL(config.url).hostname.replaceAll(/^\[|\]$/g, '')
  const state = await firstState({ host, port, credentials: credentialsOf(config) })
  const advice = adviseOnPush(state)
  return advice === undefined ? [] : [{ status: 'degraded', advice }]
}

function firstState(target: {
  readonly host: string
  readonly port: number
  readonly credentials: Credentials | undefined
}): Promise<AsciiState> {
  return new Promise((resolve) => {
    const client = new AsciiClient({
      ...target,
      pingMs: MAX_WAIT_MS,
      patienceMs: MAX_WAIT_MS,
      onChanges: () => undefined,
      onState: (state) => {
        client.stop()
        resolve(state)
      },
    })
    client.start()
  })
}

/** No script runs for an examination: whether the adapter answers shows when the gateway asks it. */
async function eventFilesFinding(config: HomeseerConfig): Promise<readonly HomeseerFinding[]> {
  const { eventsPath, eventGroupsPath, eventsFrom, unreadEvents, knownEventMembers, admin } = config
  if (eventsFrom === 'adapter')
    return admin.adapterKey === undefined
      ? [
          {
            status: 'degraded',
            advice:
              'homeseer.admin.adapterKey is not set: the adapter on HomeSeer refuses requests without a signature.',
          },
        ]
      : []
  const places = { events: eventsPath, groups: eventGroupsPath, knownMembers: knownEventMembers }
  const files = await new EventFileStore(places).read()
  if (files.ok) return memberFindings(files.value)
  const path = 'path' in files.fault ? files.fault.path : eventsPath
  const meanwhile = unreadEvents === 'ask' ? 'every change asks a person' : 'every event asks a person'
  const advice = `HomeSeer’s event files cannot be read from here (${path}), so nobody knows what a change sets in motion, and ${meanwhile}. Three ways out: set homeseer.eventsPath and homeseer.eventGroupsPath to a shared folder or a copy (with homeseer.eventsMaxAgeHours), or homeseer.eventsFrom: adapter with docs/homeseer/hearthbus_admin.cs on HomeSeer.`
  return [{ status: 'degraded', advice }]
}

/** What HomeSeer writes into its files and nobody here knows makes those events ask. */
function memberFindings({ definitions, unread }: EventFiles): readonly HomeseerFinding[] {
  const strange = definitions.filter(({ unknown }) => unknown.length > 0)
  const names = [...new Set(strange.flatMap(({ unknown }) => unknown))].slice(0, 20)
  if (strange.length === 0 && unread === 0) return []
  const advice = `${strange.length + unread} of HomeSeer’s events hold what is not understood here (${names.join(', ')}), and ask a person. Members that do nothing can be named under homeseer.knownEventMembers.`
  return [{ status: 'degraded', advice }]
}

function credentialsOf({ user, password = '' }: HomeseerConfig): Credentials | undefined {
  return user === undefined ? undefined : { user, password }
}
