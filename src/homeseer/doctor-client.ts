/**
 * HomeSeer examination: problems between the gateway and HomeSeer, with advice.
 *
 * A running gateway passes the state of its own link. Before a start, the examination does what the gateway would do:
 * it logs in, reads, and listens for a moment. It changes nothing; the only script that it runs on HomeSeer is the
 * admin adapter that the owner configured, to ask for its version.
 */
import { omitUndefined } from '../core/json.ts'
import { connect as connectTls } from 'node:tls'
import type { HomeseerConfig } from '../config/homeseer.ts'
import { readWebhookListener } from '../config/listeners.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { newUlid } from '../core/ids.ts'
import { findListenFault } from '../toolbox/listen-check-client.ts'
import type { EventDefinitionSource, LoadedEventDefinitions } from './catalog/event-file-store.ts'
import { EventFileReader } from './catalog/event-file-store.ts'
import { readAsciiAddress, readJsonClientSettings, type HomeseerConfigWithUrl } from './connection-settings.ts'
import { readAliasFile } from './tools/alias-file-store.ts'
import { adviseOnHomeseerLink, adviseOnHomeseerPush } from './tools/link-health.ts'
import { createAdminAdapterHttpRequest } from './wire/admin-adapter.ts'
import { AsciiPushClient, type AsciiConnectionState } from './wire/ascii-push-client.ts'
import { readRecordText } from './wire/record-field.ts'
import { toLoggableRequestOutcome, JsonClient, type RequestAttemptNote } from './wire/json-client.ts'
import { createStatusRequest, createVersionRequest } from './wire/json-requests.ts'

/** The gateway's own link, or one that was opened for the examination. */
export interface HomeseerLinkToExamine {
  readonly json: Pick<JsonClient, 'call'>
  readonly reach: HomeseerReach
  /** `undefined` if no push over the ASCII port is configured. */
  readonly push: AsciiConnectionState | undefined
  readonly events: EventDefinitionSource
  /** Why the web hook cannot receive although it should. */
  readonly deaf: string | undefined
}

interface HomeseerReach {
  /** The result of the last request; `undefined` before the first. */
  readonly outcome: RequestAttemptNote['outcome'] | undefined
  readonly code?: string
  readonly version?: string
  readonly devices: number
}

const MAX_WAIT_MS = 5_000

/** `running` is the link of a running gateway. */
export async function examineHomeseer(
  config: HomeseerConfigWithUrl,
  running?: HomeseerLinkToExamine,
): Promise<readonly DoctorFinding[]> {
  if (running !== undefined) return examineLink(config, running)
  const json = openJsonClient(config)
  try {
    const { eventsPath: events, eventGroupsPath: groups, knownEventMembers: knownMembers } = config
    const [reach, push, deaf] = await Promise.all([readHomeseer(json), listenOnce(config), findDeafness(config)])
    const link = { json, reach, push, deaf, events: new EventFileReader({ events, groups, knownMembers }) }
    return [...namesFinding(config), ...(await examineLink(config, link))]
  } finally {
    json.close()
  }
}

async function examineLink(
  config: HomeseerConfigWithUrl,
  link: HomeseerLinkToExamine,
): Promise<readonly DoctorFinding[]> {
  const reached = await linkFinding(config, link)
  return [
    reached,
    ...pushFindings(config, link.push),
    ...(link.deaf === undefined ? [] : [warning(link.deaf)]),
    ...(await eventFindings(config, link)),
    ...(reached.level === 'ok' ? await adapterFindings(config, link) : []),
  ]
}

/** The gateway does not start with an alias file that it cannot read. */
function namesFinding({ aliasFile }: HomeseerConfig): readonly DoctorFinding[] {
  const names = aliasFile === undefined ? undefined : readAliasFile(aliasFile)
  if (names === undefined || names.ok) return []
  return [{ ...toFinding('fail', names.fault), refusesStart: true }]
}

async function findDeafness({ push }: HomeseerConfig): Promise<string | undefined> {
  return push.webhookKey === undefined ? undefined : findListenFault(readWebhookListener(push))
}

/** Each request is sent once, because a person waits. */
function openJsonClient(config: HomeseerConfigWithUrl): JsonClient {
  const settings = readJsonClientSettings(config)
  const timeoutMs = Math.min(settings.timeoutMs, MAX_WAIT_MS)
  return new JsonClient({ ...settings, timeoutMs, readRetries: 0, readRetryBackoffMs: 0, allTriesMs: 0, restMs: 0 })
}

async function readHomeseer(json: JsonClient): Promise<HomeseerReach> {
  const version = await json.call(createVersionRequest())
  if (!version.ok) return { ...toLoggableRequestOutcome(version), devices: 0 }
  const status = await json.call(createStatusRequest({ compress: true, excludeEvents: true }))
  return status.ok
    ? { outcome: 'ok', version: version.value, devices: status.value.devices.length }
    : { ...toLoggableRequestOutcome(status), devices: 0 }
}

async function linkFinding({ url }: HomeseerConfigWithUrl, { reach }: HomeseerLinkToExamine): Promise<DoctorFinding> {
  const { outcome, code, version, devices } = reach
  if (outcome === 'ok') {
    const homeseer = version === undefined ? 'HomeSeer' : `HomeSeer ${version}`
    return toFinding('ok', `${homeseer} at ${url} answers, with ${devices} devices.`)
  }
  if (mayBeTls(url, outcome) && (await speaksTls(new URL(url))))
    return toFinding('fail', `What answers at ${url} speaks TLS. Write https:// in homeseer.url.`)
  const last = outcome === undefined ? undefined : { outcome, ...omitUndefined({ code }) }
  return toFinding('fail', adviseOnHomeseerLink(url, last) ?? `HomeSeer at ${url} refuses to be read.`)
}

/** A server that expects TLS closes a plain HTTP connection, sends a TLS alert, or answers 400. */
function mayBeTls(url: string, outcome: HomeseerReach['outcome']): boolean {
  return url.startsWith('http:') && (outcome === 'unreachable' || outcome === 'http-status')
}

/** Tests with a handshake; nothing is sent over the connection, so the certificate is not checked. */
function speaksTls({ hostname, port }: URL): Promise<boolean> {
  const host = hostname.replaceAll(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connectTls({ host, port: Number(port === '' ? 80 : port), rejectUnauthorized: false })
    const end = (speaks: boolean) => (): void => {
      socket.destroy()
      resolve(speaks)
    }
    socket.setTimeout(MAX_WAIT_MS, end(false))
    socket.once('error', end(false))
    socket.once('secureConnect', end(true))
  })
}

function pushFindings({ push: { asciiPort, webhookKey } }: HomeseerConfig, state: AsciiConnectionState | undefined) {
  if (asciiPort === undefined && webhookKey === undefined)
    return [warning('HomeSeer pushes nothing, so everything is polled. Set homeseer.push.asciiPort.')]
  const advice = adviseOnHomeseerPush(state)
  return advice === undefined ? [] : [warning(advice)]
}

/** The answer of the ASCII port, if one is configured. */
function listenOnce(config: HomeseerConfigWithUrl): Promise<AsciiConnectionState | undefined> {
  const address = readAsciiAddress(config)
  if (address === undefined) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const client = new AsciiPushClient({
      ...address,
      credentials: readJsonClientSettings(config).credentials,
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

async function eventFindings(
  config: HomeseerConfig,
  { events }: HomeseerLinkToExamine,
): Promise<readonly DoctorFinding[]> {
  const { eventsPath, eventsFrom, unreadEvents } = config
  // With the adapter, the finding about events is part of the finding about the adapter.
  if (eventsFrom === 'adapter') return []
  const files = await events.read()
  if (files.ok) return memberFindings(files.value)
  const path = 'path' in files.fault ? files.fault.path : eventsPath
  const meanwhile = unreadEvents === 'ask' ? 'every change asks a person' : 'every event asks a person'
  return [
    warning(
      `HomeSeer’s event files cannot be read from here (${path}), so nobody knows what a change sets in motion, and ${meanwhile}. Three ways out: set homeseer.eventsPath and homeseer.eventGroupsPath to a shared folder or a copy (with homeseer.eventsMaxAgeHours), or homeseer.eventsFrom: adapter with docs/homeseer/hearthbus_admin.cs on HomeSeer.`,
    ),
  ]
}

/** Events with unknown members need an approval, so they are reported. */
function memberFindings({ definitions, unread }: LoadedEventDefinitions): readonly DoctorFinding[] {
  const notUnderstood = definitions.filter(({ unknown }) => unknown.length > 0)
  const names = [...new Set(notUnderstood.flatMap(({ unknown }) => unknown))].slice(0, 20)
  if (notUnderstood.length === 0 && unread === 0) return []
  return [
    warning(
      `${notUnderstood.length + unread} of HomeSeer’s events hold members that are not understood here (${names.join(', ')}), so a person is asked about them. Members that do nothing can be named under homeseer.knownEventMembers.`,
    ),
  ]
}

/** Asked only if the owner configured the adapter, because it runs a script on HomeSeer. */
async function adapterFindings(
  { admin, eventsFrom, scriptPage, unreadEvents }: HomeseerConfig,
  { json }: HomeseerLinkToExamine,
): Promise<readonly DoctorFinding[]> {
  const { adapterKey: key } = admin
  if (key === undefined)
    return eventsFrom === 'adapter'
      ? [warning('homeseer.admin.adapterKey is not set: the adapter on HomeSeer refuses requests without a signature.')]
      : []
  const request = { id: newUlid(), op: 'adapter.describe', args: {}, atMs: Date.now() }
  const answer = await json.call(createAdminAdapterHttpRequest(request, { page: scriptPage, key }))
  if (answer.ok && answer.value.ok) {
    const version = readRecordText(answer.value.data, 'version') ?? 'of an unknown version'
    return [toFinding('ok', `The admin adapter ${version} is installed on HomeSeer.`)]
  }
  const meanwhile =
    eventsFrom === 'adapter'
      ? ` Until then ${unreadEvents === 'ask' ? 'every change asks a person' : 'every event asks a person'}.`
      : ''
  const why = answer.ok && !answer.value.ok ? `refuses this gateway (${answer.value.message})` : 'is not installed'
  return [
    warning(
      `The admin adapter ${why}: copy docs/homeseer/hearthbus_admin.cs into HomeSeer’s scripts folder, with the key of homeseer.admin.adapterKey in it (docs/protocols/homeseer.md § 4).${meanwhile}`,
    ),
  ]
}

function toFinding(level: DoctorFinding['level'], sentence: string): DoctorFinding {
  return { level, about: 'homeseer', sentence }
}

function warning(sentence: string): DoctorFinding {
  return toFinding('warn', sentence)
}
