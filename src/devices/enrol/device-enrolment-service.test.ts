import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LOG_TABLE, tableLog } from '../../../test/table-log.ts'
import { toUtf8 } from '../../core/bytes.ts'
import { manualClock } from '../../../test/manual-clock.ts'
import { Database } from '../../core/database-store.ts'
import type { OtaRequest, OtaSettings } from '../wire/ota.ts'
import { VISION_PATH, WEBSOCKET_PATH } from './advertised-addresses.ts'
import type { DeviceEnrolmentService } from './enrolment.ts'
import { deviceToolsMigrations } from '../tools/tool-pin-store.ts'
import { rememberedDevicesMigrations, EnrolStore } from './enrol-store.ts'
import type { DeviceEnrolmentOptions } from './device-enrolment-service.ts'
import { createDeviceEnrolmentService } from './device-enrolment-service.ts'

const KEY = toUtf8('0123456789abcdef0123456789abcdef')
const ADDRESSES = { remoteAddress: '192.168.1.50', localAddress: '192.168.1.2' }
const REQUEST: OtaRequest = {
  deviceId: 'a0:b1:c2:d3:e4:f5',
  clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff',
  activationVersion: 1,
  board: 'esp-box',
  firmware: '2.4.2',
  language: 'en-US',
}
const IDENTITY = { deviceId: REQUEST.deviceId, clientId: REQUEST.clientId }

let database: Database
let voided: string[]
const clock = manualClock()

function open(options: Partial<DeviceEnrolmentOptions> = {}): DeviceEnrolmentService {
  return createDeviceEnrolmentService({
    store: new EnrolStore(database, tableLog(database, clock)),
    signingKey: KEY,
    addresses: () => ({
      publicUrl: undefined,
      httpPort: 7421,
      mqttPort: 1883,
      webSocketPath: WEBSOCKET_PATH,
      visionPath: VISION_PATH,
    }),
    transport: 'websocket',
    onVoid: (deviceId) => voided.push(deviceId),
    clock,
    ...options,
  })
}

async function approved(
  registrar: DeviceEnrolmentService,
  transport: 'websocket' | 'mqtt' | 'mqtt-broker' = 'websocket',
) {
  const answer = await registrar.ota(REQUEST, ADDRESSES)
  const code = answer.kind === 'activation' ? answer.activation.code : ''
  return registrar.approve(code, { by: 'Ada', name: 'Kitchen', transport })
}

const tokenIn = (settings: OtaSettings) => (settings.kind === 'websocket' ? settings.websocket.token : '')
const knock = (token: string) => ({ kind: 'token', ...IDENTITY, token }) as const

beforeEach(() => {
  database = new Database({
    path: ':memory:',
    migrations: [rememberedDevicesMigrations, deviceToolsMigrations, LOG_TABLE],
  })
  voided = []
})
afterEach(() => database.close())

describe('an unknown device', () => {
  it('gets a six-digit code, and a token that is not accepted before the approval', async () => {
    const registrar = open()
    const answer = await registrar.ota(REQUEST, ADDRESSES)
    expect(answer).toEqual({
      kind: 'activation',
      activation: {
        code: expect.stringMatching(/^\d{6}$/),
        challenge: expect.stringMatching(/^[\w-]{32}$/),
        message: expect.stringMatching(/^Hearthbus\n\d{6}$/),
      },
      websocket: { url: expect.stringMatching(/^ws:/), token: expect.stringMatching(/^[\w-]{43}$/) },
    })
    expect(await registrar.ota(REQUEST, ADDRESSES)).toEqual(answer)
    expect(registrar.pending()).toMatchObject([{ ...IDENTITY, board: 'esp-box', remoteAddress: '192.168.1.50' }])
    expect(registrar.devices()).toEqual([])
  })

  // py-xiaozhi asks once, shows the code, and connects with what it was told then.
  it('that sends one OTA request is admitted with its token once it is approved, whatever its transport', async () => {
    const registrar = open()
    const answer = await registrar.ota(REQUEST, ADDRESSES)
    const { websocket, activation } = answer as Extract<typeof answer, { kind: 'activation' }>
    const token = websocket?.token ?? ''
    expect(await registrar.admit(knock(token))).toBeUndefined()
    await registrar.approve(activation.code, { by: 'owner', transport: 'mqtt' })
    expect(await registrar.admit(knock(token))).toEqual(IDENTITY)
    const unknown = { ...knock(token), clientId: 'ffffffff-0000-4000-8000-000000000000' }
    expect(await registrar.admit(unknown)).toBeUndefined()
    await registrar.revoke(REQUEST.deviceId, 'owner')
    expect(await registrar.admit(knock(token))).toBeUndefined()
  })

  it('cannot be approved with a code that was never issued', async () => {
    expect(await open().approve('000000', { by: 'Ada' })).toEqual({
      ok: false,
      fault: { kind: 'unknown-code', code: '000000' },
    })
  })

  it('is activated once it is approved, and has nothing to activate once it has its credentials', async () => {
    const registrar = open()
    const request = { ...IDENTITY, challenge: undefined }
    expect(registrar.activate(request)).toBe('nothing-to-activate')
    await registrar.ota(REQUEST, ADDRESSES)
    expect(registrar.activate(request)).toBe('not-yet')
    await approved(registrar)
    expect(registrar.activate(request)).toBe('activated')
    await registrar.ota(REQUEST, ADDRESSES)
    expect(registrar.activate(request)).toBe('nothing-to-activate')
  })
})

describe('an approved device', () => {
  it('gets the address of one transport, and a token that is accepted', async () => {
    const registrar = open()
    expect(await approved(registrar)).toMatchObject({
      ok: true,
      value: { ...IDENTITY, state: 'approved', name: 'Kitchen', approvedBy: 'Ada', generation: 1 },
    })
    const answer = await registrar.ota({ ...REQUEST, firmware: '2.5.0' }, ADDRESSES)
    expect(answer).toMatchObject({ kind: 'websocket', websocket: { url: 'ws://192.168.1.2:7421/xiaozhi/v1/' } })
    expect(await registrar.admit(knock(tokenIn(answer)))).toEqual(IDENTITY)
    expect(registrar.device(REQUEST.deviceId)).toMatchObject({ firmware: '2.5.0', bootedAtMs: clock.now() })
  })

  it('keeps no token in the database', async () => {
    const registrar = open()
    await approved(registrar)
    const token = tokenIn(await registrar.ota(REQUEST, ADDRESSES))
    const rows = JSON.stringify(database.sql.prepare('SELECT * FROM test_event').all())
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(rows).not.toContain(token)
  })

  it('may use any of its last four tokens, until it uses a newer one', async () => {
    const registrar = open()
    await approved(registrar)
    const tokens: string[] = []
    for (let boot = 0; boot < 6; boot++) tokens.push(tokenIn(await registrar.ota(REQUEST, ADDRESSES)))
    const admitted = async () => {
      const found = await Promise.all(tokens.map((token) => registrar.admit(knock(token))))
      return found.map((identity) => identity !== undefined)
    }
    const [, , third = '', , fifth = ''] = tokens
    expect(await registrar.admit(knock(tokens[0] ?? ''))).toBeUndefined()
    expect(await registrar.admit(knock(third))).toEqual(IDENTITY)
    expect(await registrar.admit(knock(fifth))).toEqual(IDENTITY)
    await database.commit(() => undefined)
    expect(await admitted()).toEqual([false, false, false, false, true, true])
  })

  it('keeps its token while the doctor, or another client, sends OTA requests', async () => {
    const registrar = open()
    await approved(registrar)
    const token = tokenIn(await registrar.ota(REQUEST, ADDRESSES))
    await registrar.admit(knock(token))
    for (let boot = 0; boot < 10; boot++) await registrar.ota(REQUEST, ADDRESSES)
    expect(await registrar.admit(knock(token))).toEqual(IDENTITY)
  })

  it('gets the same signed MQTT credentials at every boot', async () => {
    const registrar = open()
    await approved(registrar, 'mqtt')
    const answer = await registrar.ota(REQUEST, ADDRESSES)
    expect(answer).toMatchObject({
      kind: 'mqtt',
      mqtt: {
        endpoint: '192.168.1.2:1883',
        publishTopic: 'device-server',
        subscribeTopic: 'devices/p2p/a0_b1_c2_d3_e4_f5',
      },
    })
    expect(await registrar.ota(REQUEST, ADDRESSES)).toEqual(answer)
    const credentials = answer.kind === 'mqtt' ? answer.mqtt : { clientId: '', username: '', password: '' }
    expect(await registrar.admit({ kind: 'mqtt', credentials })).toEqual(IDENTITY)
  })

  it('gets its own topics on the configured MQTT broker', async () => {
    const account = { username: 'devices', password: 'secret' }
    const broker = { endpoint: 'b.example:1883', uplink: 'up/{device}', downlink: 'down/{device}', account }
    const registrar = open({ broker })
    await approved(registrar, 'mqtt-broker')
    expect(await registrar.ota(REQUEST, ADDRESSES)).toMatchObject({
      mqtt: {
        endpoint: 'b.example:1883',
        username: 'devices',
        password: 'secret',
        publishTopic: 'up/a0_b1_c2_d3_e4_f5',
        subscribeTopic: 'down/a0_b1_c2_d3_e4_f5',
      },
    })
    expect(registrar.recognise(REQUEST.deviceId)).toEqual(IDENTITY)
  })

  it('can be previewed without issuing a token or writing an event', async () => {
    const registrar = open()
    await approved(registrar)
    const events = () => database.sql.prepare('SELECT event FROM test_event').all()
    const before = events()
    expect(registrar.preview(REQUEST, ADDRESSES)).toMatchObject({ kind: 'websocket', websocket: { token: '' } })
    expect(events()).toEqual(before)
    const other = { ...REQUEST, clientId: 'ffffffff-0000-4000-8000-000000000000' }
    expect(registrar.preview(other, ADDRESSES)).toMatchObject({ kind: 'activation', activation: { code: '' } })
    expect(registrar.pending()).toEqual([])
  })
})

describe('a device that is revoked, rotated or forgotten', () => {
  it('gets no answer and no admission after it is revoked', async () => {
    const registrar = open()
    await approved(registrar)
    const token = tokenIn(await registrar.ota(REQUEST, ADDRESSES))
    expect(await registrar.revoke(REQUEST.deviceId, 'owner')).toMatchObject({ ok: true, value: { state: 'revoked' } })
    expect(await registrar.admit(knock(token))).toBeUndefined()
    expect(await registrar.ota(REQUEST, ADDRESSES)).toEqual({ kind: 'nothing' })
    expect(voided).toEqual([REQUEST.deviceId])
  })

  it('cannot log in with an MQTT password from before a rotation', async () => {
    const registrar = open()
    await approved(registrar, 'mqtt')
    const answer = await registrar.ota(REQUEST, ADDRESSES)
    await registrar.rotate(REQUEST.deviceId, 'owner')
    const credentials = answer.kind === 'mqtt' ? answer.mqtt : { clientId: '', username: '', password: '' }
    expect(await registrar.admit({ kind: 'mqtt', credentials })).toBeUndefined()
  })

  it('gets no token from an OTA request that runs while it is being revoked', async () => {
    const registrar = open()
    await approved(registrar)
    const [, answer] = await Promise.all([
      registrar.revoke(REQUEST.deviceId, 'owner'),
      registrar.ota(REQUEST, ADDRESSES),
    ])
    expect(answer).toEqual({ kind: 'nothing' })
    expect(registrar.device(REQUEST.deviceId)?.state).toBe('revoked')
  })

  it('is replaced when it is approved again after a factory reset, and the old credentials end', async () => {
    const newcomers: string[] = []
    const registrar = open({ onNewcomer: (deviceId) => newcomers.push(deviceId) })
    await approved(registrar)
    const token = tokenIn(await registrar.ota(REQUEST, ADDRESSES))
    const erased = { ...REQUEST, clientId: 'ffffffff-0000-4000-8000-000000000000' }
    const answer = await registrar.ota(erased, ADDRESSES)
    expect(await registrar.admit(knock(token))).toEqual(IDENTITY)
    const code = answer.kind === 'activation' ? answer.activation.code : ''
    expect(await registrar.approve(code, { by: 'Ada' })).toMatchObject({
      value: { clientId: erased.clientId, name: 'Kitchen', generation: 2 },
    })
    expect(newcomers).toEqual([REQUEST.deviceId, REQUEST.deviceId])
    expect(await registrar.admit(knock(token))).toBeUndefined()
  })

  it('gets an activation code again after it is forgotten', async () => {
    const registrar = open()
    await approved(registrar)
    await registrar.forget(REQUEST.deviceId, 'owner')
    expect((await registrar.ota(REQUEST, ADDRESSES)).kind).toBe('activation')
    expect(await registrar.forget(REQUEST.deviceId, 'owner')).toEqual({
      ok: false,
      fault: { kind: 'unknown-device', device: REQUEST.deviceId },
    })
  })
})

describe('a device that is forgotten and boots again', () => {
  it('gets a code that can be approved', async () => {
    const registrar = open()
    await approved(registrar)
    await registrar.forget(REQUEST.deviceId, 'owner')
    const answer = await registrar.ota(REQUEST, ADDRESSES)
    expect(registrar.activate({ ...IDENTITY, challenge: undefined })).toBe('not-yet')
    const code = answer.kind === 'activation' ? answer.activation.code : ''
    expect(registrar.pending().map((waiting) => waiting.code)).toEqual([code])
    expect(await registrar.approve(code, { by: 'Ada' })).toMatchObject({ ok: true })
  })
})

describe('the signing key', () => {
  it('has at least 32 bytes', () => {
    expect(() => open({ signingKey: toUtf8('short') })).toThrow(RangeError)
  })
})
