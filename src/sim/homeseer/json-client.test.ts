import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../../test/local-port.ts'
import { createAdminAdapterHttpRequest } from '../../homeseer/wire/admin-adapter.ts'
import { mayHomeseerHaveActed } from '../../homeseer/wire/link-fault.ts'
import { createGenericHomeseerRequest, type HomeseerRequestDefinition } from '../../homeseer/wire/http-exchange.ts'
import { JsonClient, type RequestAttemptNote, type JsonClientOptions } from '../../homeseer/wire/json-client.ts'
import {
  createCamerasRequest,
  createCameraSnapshotRequest,
  createControlsRequest,
  createEventsRequest,
  createPluginsRequest,
  createStatusRequest,
  createVersionRequest,
  createPluginFunctionRequest,
  createControlByIndexRequest,
  createControlByValueRequest,
  createCameraPanRequest,
  createEventRunByIdRequest,
  createDevicePropertyWriteRequest,
  createStoredStatusWriteRequest,
} from '../../homeseer/wire/json-requests.ts'
import { createScriptRunRequest, createBackupRequest } from '../../homeseer/wire/script-and-backup-pages.ts'
import { HARD_CASE_DEVICE_REFS } from './hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from './homeseer-server.ts'

let simulator: HomeseerSimulator
let notes: RequestAttemptNote[]
const clients: JsonClient[] = []

beforeEach(async () => {
  simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0 })
  notes = []
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await simulator.stop()
})

function clientOf(part: Partial<JsonClientOptions> = {}): JsonClient {
  const client = new JsonClient({
    baseUrl: `http://127.0.0.1:${simulator.httpPort}`,
    credentials: { user: 'default', password: 'default' },
    authentication: 'basic',
    timeoutMs: 5_000,
    readRetries: 2,
    readRetryBackoffMs: 10,
    allTriesMs: 25_000,
    restMs: 0,
    maxReplyBytes: 8_000_000,
    onAttempt: (note) => notes.push(note),
    ...part,
  })
  clients.push(client)
  return client
}

/** HomeSeer's POST form, which keeps the values out of the address. */
function action(text: string): HomeseerRequestDefinition<unknown> {
  const http = { method: 'POST', path: '/JSON', query: [], body: { contentType: 'application/json', text } } as const
  return { ...createGenericHomeseerRequest('action', {}, 'writes'), http }
}

describe('HomeSeer JSON client', () => {
  it('reads version, devices, controls, events and the other data', async () => {
    const client = clientOf()
    expect(await client.call(createVersionRequest())).toEqual({ ok: true, value: '4.2.22.4' })
    expect(await client.call(createStatusRequest({ refs: [101], everything: true }))).toMatchObject({
      value: { devices: [{ ref: 101, status: 'Dim 35%', controls: [{}, { use: 'Dim' }, {}, {}] }] },
    })
    const controls = await client.call(createControlsRequest())
    expect(controls.ok && controls.value.get(141)?.map((pair) => pair.use)).toEqual(['DoorUnLock', 'DoorLock'])
    expect(await client.call(createEventsRequest())).toMatchObject({
      value: expect.arrayContaining([expect.objectContaining({ id: 35 })]),
    })
    expect(await client.call(createCamerasRequest())).toMatchObject({
      value: [{ camId: 1, supportsPanTilt: true }, { camId: 2 }],
    })
    expect(await client.call(createPluginsRequest())).toMatchObject({
      value: [{ id: 'Z-Wave', updateAvailable: true }, {}, {}, {}],
    })
    expect(await client.call(createGenericHomeseerRequest('getlocations', {}, 'reads'))).toMatchObject({
      value: { location2: expect.arrayContaining(['Ground']) },
    })
    expect(await client.call(createGenericHomeseerRequest('getsessionconfig', {}, 'reads'))).toMatchObject({
      value: { username: 'default', userPermissions: { user_permissions: 2 } },
    })
  })

  it('reads snapshots as bytes and as base64 JSON', async () => {
    const client = clientOf()
    const first = await client.call(createCameraSnapshotRequest(1))
    simulator.faults.snapshotAsJson = true
    const second = await client.call(createCameraSnapshotRequest(1))
    expect(first).toMatchObject({ ok: true, value: { mimeType: 'image/jpeg' } })
    expect(second.ok && first.ok && second.value.bytes.length === first.value.bytes.length).toBe(true)
  })

  it('ignores the content type of a reply', async () => {
    simulator.faults.contentType = undefined
    expect(await clientOf().call(createEventsRequest())).toMatchObject({ ok: true })
    simulator.faults.contentType = 'text/html'
    expect(await clientOf().call(createEventsRequest())).toMatchObject({ ok: true })
  })

  it('moves the hardware with every way of control', async () => {
    const client = clientOf()
    const { house } = simulator
    expect(await client.call(createControlByValueRequest(120, 255))).toMatchObject({
      ok: true,
      value: { shown: { ref: 120 } },
    })
    expect(await client.call(action('{"action":"controlbyvalue","deviceref":111,"value":255}'))).toMatchObject({
      ok: true,
    })
    expect(
      await client.call(createGenericHomeseerRequest('controldevicebylabel', { ref: 141, label: 'Unlock' }, 'writes')),
    ).toMatchObject({ ok: true })
    expect(
      await client.call(
        createGenericHomeseerRequest('controldevicebycontroluse', { ref: [100], controluse: 3, value: 12 }, 'writes'),
      ),
    ).toMatchObject({ ok: true })
    expect(await client.call(createControlByIndexRequest(176, 0, '#00ff00'))).toMatchObject({ ok: true })
    await expect.poll(() => house.hardware(141)?.value).toBe(0)
    expect([120, 111, 101].map((ref) => house.hardware(ref)?.value)).toEqual([255, 255, 12])
    expect(house.hardware(176)?.text).toBe('#00ff00')
  })

  it('writes status, properties, events and the other changes', async () => {
    const client = clientOf()
    expect(await client.call(createStoredStatusWriteRequest({ ref: 120, value: 255 }))).toEqual({
      ok: true,
      value: undefined,
    })
    expect(simulator.house.hardware(120)?.value).toBe(0)
    expect(await client.call(createDevicePropertyWriteRequest(120, 'UserNote', 'new bulb'))).toMatchObject({ ok: true })
    expect(await client.call(createEventRunByIdRequest(32))).toMatchObject({ ok: true })
    expect(await client.call(action('{"action":"runevent","group":"Weekend","name":"Movie Night"}'))).toMatchObject({
      ok: true,
    })
    expect(await client.call(createCameraPanRequest(1, 'upstart'))).toMatchObject({ ok: true })
    expect(
      await client.call(createPluginFunctionRequest({ plugin: 'Hue', functionName: 'Sync', parameters: [1] })),
    ).toMatchObject({
      ok: true,
    })
    expect(await client.call(createScriptRunRequest('evening.vb'))).toMatchObject({
      value: { commands: [{ key: 'response', value: 'ok' }] },
    })
    expect(await client.call(createBackupRequest())).toEqual({ ok: true, value: undefined })
    expect(simulator.system.deeds.every((deed) => deed.done)).toBe(true)
  })

  it('recognises a refusal as a bare error, a text or an empty list', async () => {
    const client = clientOf()
    expect(await client.call(createControlByValueRequest(131, 100))).toMatchObject({
      fault: { kind: 'refused', reason: 'error' },
    })
    expect(await client.call(createControlByValueRequest(9_999, 1))).toMatchObject({ fault: { kind: 'refused' } })
    expect(await client.call(createEventRunByIdRequest(999))).toMatchObject({
      fault: { kind: 'refused', reason: 'bad-request' },
    })
    simulator.faults.jsonDisabled = true
    expect(await client.call(createStatusRequest())).toMatchObject({ fault: { kind: 'json-disabled' } })
  })

  it('logs in by header or query, and recognises a refused login in either form', async () => {
    const wrong = { user: 'default', password: 'wrong' }
    expect(await clientOf({ authentication: 'query' }).call(createVersionRequest())).toMatchObject({ ok: true })
    expect(await clientOf({ credentials: wrong }).call(createVersionRequest())).toEqual({
      ok: false,
      fault: { kind: 'unauthorised' },
    })
    simulator.faults.wrongLogin = 'response-text'
    expect(await clientOf({ credentials: wrong }).call(createVersionRequest())).toEqual({
      ok: false,
      fault: { kind: 'unauthorised' },
    })
    expect(notes.map((note) => note.attempt)).toEqual([0, 0, 0])
  })

  it('retries reads after transient failures, and notes every attempt', async () => {
    simulator.faults.failWith = { status: 503, times: 1 }
    simulator.faults.dropBefore = 1
    expect(await clientOf().call(createVersionRequest())).toMatchObject({ ok: true })
    expect(notes.map(({ request, attempt, outcome }) => [request, attempt, outcome])).toEqual([
      ['hsversion', 0, 'unreachable'],
      ['hsversion', 1, 'http-status'],
      ['hsversion', 2, 'ok'],
    ])
  })

  it('gives up after the configured number of retries', async () => {
    simulator.faults.failWith = { status: 500, times: 9 }
    expect(await clientOf().call(createVersionRequest())).toEqual({
      ok: false,
      fault: { kind: 'http-status', status: 500 },
    })
    expect(notes).toHaveLength(3)
  })

  it('never sends a write twice, and reports that it may have been carried out', async () => {
    const client = clientOf()
    await client.call(createVersionRequest())
    simulator.faults.dropAfter = 1
    const result = await client.call(createControlByValueRequest(120, 255))
    expect(result).toMatchObject({ ok: false, fault: { kind: 'unreachable', reached: true } })
    expect(!result.ok && mayHomeseerHaveActed(result.fault)).toBe(true)
    expect(simulator.system.deeds).toHaveLength(1)
    simulator.faults.truncate = 1
    const half = await client.call(createControlByValueRequest(120, 0))
    expect(!half.ok && mayHomeseerHaveActed(half.fault)).toBe(true)
    expect(simulator.system.deeds).toHaveLength(2)
  })

  it('reports a refused connection as not reached', async () => {
    const server = createServer()
    const port = await listenLocally(server)
    server.close()
    const result = await clientOf({ baseUrl: `http://127.0.0.1:${port}` }).call(createControlByValueRequest(120, 255))
    expect(result).toEqual({ ok: false, fault: { kind: 'unreachable', code: 'ECONNREFUSED', reached: false } })
  })

  it('reconnects when HomeSeer closed a kept-alive connection', async () => {
    const client = clientOf({ readRetries: 0 })
    expect(await client.call(createVersionRequest())).toMatchObject({ ok: true })
    simulator.hangUp('http')
    expect(await client.call(createVersionRequest())).toMatchObject({ ok: true })
  })

  it('times out, and stops waiting when aborted', async () => {
    simulator.faults.replyDelayMs = 60_000
    expect(await clientOf({ timeoutMs: 500, readRetries: 0 }).call(createVersionRequest())).toEqual({
      ok: false,
      fault: { kind: 'timed-out', afterMs: 500, reached: true },
    })
    const stopping = new AbortController()
    const call = clientOf().call(createControlByValueRequest(120, 255), stopping.signal)
    await expect.poll(() => simulator.system.deeds.length).toBe(1)
    stopping.abort()
    expect(await call).toEqual({ ok: false, fault: { kind: 'aborted', reached: true } })
    expect(await clientOf().call(createVersionRequest(), AbortSignal.abort())).toMatchObject({
      fault: { kind: 'aborted' },
    })
  })

  it('limits retries to the time for all tries', async () => {
    simulator.faults.replyDelayMs = 60_000
    const late = { ok: false, fault: { kind: 'timed-out' } }
    expect(await clientOf({ timeoutMs: 40, allTriesMs: 100 }).call(createVersionRequest())).toMatchObject(late)
    expect(notes.length).toBeLessThan(3)
    notes.length = 0
    expect(await clientOf({ timeoutMs: 40, allTriesMs: 10_000 }).call(createVersionRequest())).toMatchObject(late)
    expect(notes.length).toBe(3)
  })

  it('fails reads at once for a while after a read timed out', async () => {
    const client = clientOf({ timeoutMs: 1_000, readRetries: 0, restMs: 60_000 })
    simulator.faults.replyDelayMs = 60_000
    const late = await client.call(createStatusRequest())
    expect(late).toMatchObject({ ok: false, fault: { kind: 'timed-out' } })
    expect(await client.call(createEventsRequest())).toEqual(late)
    expect(notes.map(({ request }) => request)).toEqual(['getstatus'])
    // What changes something is sent, and says for itself what came of it.
    simulator.faults.replyDelayMs = 0
    expect(await client.call(createControlByValueRequest(120, 255))).toMatchObject({ ok: true })
  })

  it('sends one probe after a timeout, while other reads fail at once', async () => {
    const client = clientOf({ timeoutMs: 700, restMs: 0 })
    simulator.faults.replyDelayMs = 60_000
    const late = await client.call(createVersionRequest())
    notes.length = 0
    const [probe, other] = await Promise.all([client.call(createVersionRequest()), client.call(createEventsRequest())])
    expect([probe, other]).toEqual([late, late])
    expect(notes.map(({ request }) => request)).toEqual(['hsversion'])
    simulator.faults.replyDelayMs = 0
    expect(await client.call(createVersionRequest())).toMatchObject({ ok: true })
    expect(await client.call(createEventsRequest())).toMatchObject({ ok: true })
  })

  it('does not count a camera’s timeout as HomeSeer being down', async () => {
    const client = clientOf({ timeoutMs: 1_000, readRetries: 0, restMs: 60_000 })
    simulator.faults.replyDelayMs = 60_000
    expect(await client.call(createCameraSnapshotRequest(1))).toMatchObject({ fault: { kind: 'timed-out' } })
    simulator.faults.replyDelayMs = 0
    expect(await client.call(createVersionRequest())).toMatchObject({ ok: true })
  })

  it('refuses a reply that is larger than its limit', async () => {
    expect(await clientOf({ maxReplyBytes: 1_000 }).call(createStatusRequest())).toEqual({
      ok: false,
      fault: { kind: 'too-large', limitBytes: 1_000 },
    })
  })

  it('shows its password in no result and no note', async () => {
    const secret = { user: 'default', password: 'hunter2-secret' }
    const results = [
      await clientOf({ credentials: secret, authentication: 'query' }).call(createVersionRequest()),
      await clientOf({ credentials: secret }).call(createControlByValueRequest(120, 255)),
      await clientOf({ credentials: secret, authentication: 'query', baseUrl: 'http://127.0.0.1:1' }).call(
        createVersionRequest(),
      ),
    ]
    expect(JSON.stringify([results, notes])).not.toContain('hunter2')
    expect(() => clientOf({ baseUrl: 'http://u:p@127.0.0.1' })).toThrow('credentials do not belong')
  })

  it('follows no redirect, which would forward the password', async () => {
    simulator.faults.failWith = { status: 302, times: 1 }
    expect(await clientOf().call(createVersionRequest())).toEqual({
      ok: false,
      fault: { kind: 'http-status', status: 302 },
    })
  })
})

describe('admin adapter of the simulated HomeSeer', () => {
  const ask = (op: string, args: Record<string, string | number | boolean>, id = op) =>
    clientOf().call(createAdminAdapterHttpRequest({ id, op, args }))

  it('describes itself and performs an operation', async () => {
    expect(await ask('adapter.describe', {})).toMatchObject({ value: { ok: true, data: { name: 'hearthbus-admin' } } })
    expect(await ask('users.create', { username: 'ann', password: 'pw', role: 'normal' })).toMatchObject({
      value: { ok: true, data: { before: null, after: { username: 'ann', role: 'normal' } } },
    })
    expect(JSON.stringify(await ask('users.list', {}))).not.toContain('"pw"')
    expect(simulator.system.users.find((user) => user.username === 'ann')?.password).toBe('pw')
  })

  it('performs a request id once', async () => {
    const first = await ask('system.backup.start', { label: 'x' }, 'id-1')
    expect(await ask('system.backup.start', { label: 'x' }, 'id-1')).toEqual(first)
    expect(simulator.system.backups).toHaveLength(2)
    expect(await ask('adapter.outcome', { id: 'id-1' })).toMatchObject({
      value: { data: { known: true, performed: true } },
    })
    expect(await ask('adapter.outcome', { id: 'id-2' }, 'o2')).toMatchObject({ value: { data: { known: false } } })
  })

  it('refuses with an error code', async () => {
    expect(await ask('users.delete', { userId: 'nobody' })).toMatchObject({ value: { ok: false, code: 'not-found' } })
    expect(await ask('users.delete', { userId: 'default', hardDelete: true }, 'x')).toMatchObject({
      value: { code: 'conflict' },
    })
    expect(await ask('constructor', {})).toMatchObject({ value: { ok: false, code: 'unknown-operation' } })
  })

  it('is reported as unsupported when not installed, and nothing is done', async () => {
    simulator.faults.adapterMissing = true
    expect(await ask('users.create', { username: 'ann' })).toMatchObject({
      fault: { kind: 'refused', reason: 'unsupported' },
    })
    expect(simulator.system.users.some((user) => user.username === 'ann')).toBe(false)
  })

  it('performs every operation of the contract', async () => {
    const args = {
      userId: 'resident',
      username: 'ann',
      role: 'guest',
      pluginId: 'Hue',
      enabled: false,
      interfaceId: 'hue-1',
      interfaceType: 'Zigbee',
      interfaceName: 'Stick',
      backupId: 'backup-1',
      key: 'gLocLabel',
      value: 'Raum',
      camId: 2,
      name: 'Yard',
      streamUrl: 'rtsp://192.0.2.9/',
      profile: 'sub',
      eventId: 36,
      group: 'New',
      ref: HARD_CASE_DEVICE_REFS.kitchenSwitch,
      property: 'Name',
      category: 'Attic',
    }
    const described = await ask('adapter.describe', {})
    const data = described.ok && described.value.ok ? described.value.data['operations'] : []
    const answers = []
    const removes = (op: string) => Number(/remove|delete/.test(op))
    for (const op of (data as readonly string[]).toSorted((left, right) => removes(left) - removes(right))) {
      const given =
        op === 'plugins.install' || op === 'events.create' ? { ...args, pluginId: 'New', eventId: -1 } : args
      answers.push([op, await ask(op, given, `each ${op}`)] as const)
    }
    expect(answers.filter(([, answer]) => !answer.ok || !answer.value.ok)).toEqual([])
  })
})
