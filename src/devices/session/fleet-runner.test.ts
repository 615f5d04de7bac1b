import { describe, expect, it } from 'vitest'
import { manualClock } from '../../../test/manual-clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { createPhotoUploadService } from '../enrol/photo-uploads.ts'
import type { DeviceLink, DeviceLinkHandlers, UploadedPhoto } from './fleet.ts'
import { createDeviceFleet } from './fleet-runner.ts'

const IDENTITY = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }
const ID = IDENTITY.deviceId
const TOOL = { name: 't', description: '', inputSchema: { type: 'object', properties: {} } }

/** The far end of a link: what it was sent, and whether it was hung up on. */
class FarEnd {
  readonly sent: JsonObject[] = []
  closedFor: string | undefined
  ears: DeviceLinkHandlers = {
    text: () => undefined,
    audio: () => undefined,
    stir: () => undefined,
    closed: () => undefined,
  }
  readonly link: DeviceLink = {
    transport: 'mqtt',
    remoteAddress: '10.0.0.9',
    localAddress: '10.0.0.1',
    udp: undefined,
    send: (text) => void this.sent.push(JSON.parse(text) as JsonObject),
    sendAudio: () => undefined,
    openAudio: () => undefined,
    close: (reason) => {
      this.closedFor = reason
    },
  }

  reply(body: JsonObject): void {
    const { id } = (this.sent.at(-1)?.['payload'] ?? {}) as { id?: number }
    this.ears.text(JSON.stringify({ type: 'mcp', payload: { jsonrpc: '2.0', id: id ?? 0, ...body } }))
  }

  discovered(version = '2.4.2'): void {
    this.reply({ result: { serverInfo: { name: 'b', version } } })
    this.reply({ result: { tools: [TOOL] } })
  }
}

function attach(fleet = createDeviceFleet()) {
  const far = new FarEnd()
  far.ears = fleet.attach(IDENTITY, far.link)
  return { fleet, far }
}

const TEXT = { result: { content: [{ type: 'text', text: 'ok' }] } }

describe('device fleet', () => {
  it('answers a call to a device that never connected with unknown-device', async () => {
    const fleet = createDeviceFleet()
    expect(await fleet.call('x', 't', {})).toEqual({ ok: false, fault: { kind: 'unknown-device', device: 'x' } })
    expect(fleet.device('x')).toBeUndefined()
    expect(fleet.announce('x', { kind: 'alert', status: '', message: '', emotion: '' }).ok).toBe(false)
  })

  it('updates the last-seen time on activity without a message, but not over a closed connection', () => {
    const clock = manualClock(1_000)
    const { fleet, far } = attach(createDeviceFleet({ clock }))
    clock.advance(3_600_000)
    far.ears.stir()
    expect(fleet.device(ID)?.lastSeenMs).toBe(3_601_000)
    far.ears.closed('gone')
    clock.advance(1)
    far.ears.stir()
    expect(fleet.device(ID)?.lastSeenMs).toBe(3_601_000)
  })

  it('lists a device with its phase, transport and firmware', () => {
    const { fleet, far } = attach()
    far.discovered()
    expect(fleet.devices()).toMatchObject([
      {
        id: ID,
        online: true,
        phase: 'ready',
        transport: 'mqtt',
        remoteAddress: '10.0.0.9',
        info: { name: 'b', version: '2.4.2' },
        tools: [{ name: 't' }],
        queued: 0,
      },
    ])
    expect(fleet.stats()).toEqual({ devices: 1, connected: 1, pendingCalls: 0, ignored: {} })
  })

  it('closes the older connection of a device and ignores what still arrives on it', async () => {
    const { fleet, far: older } = attach()
    older.discovered()
    const { far: newer } = attach(fleet)
    expect(older.closedFor).toBe('replaced by a newer connection')
    older.ears.closed('late')
    older.ears.text('{"type":"hello"}')
    newer.discovered()
    const call = fleet.call(ID, 't', {})
    newer.reply(TEXT)
    expect(await call).toMatchObject({ ok: true })
    expect(fleet.stats().connected).toBe(1)
  })

  it('publishes an event when a device connects, notifies and disconnects', async () => {
    const clock = manualClock(1_000)
    const fleet = createDeviceFleet({ clock })
    const events = fleet.subscribe()
    const { far } = attach(fleet)
    far.discovered()
    far.ears.text('{"type":"mcp","payload":{"jsonrpc":"2.0","method":"n","params":{"a":1}}}')
    far.ears.closed('gone')
    const about = { device: ID, atMs: 1_000 }
    for (const expected of [
      { kind: 'online', transport: 'mqtt', ...about },
      { kind: 'tools', changed: true, ...about },
      { kind: 'notification', method: 'n', params: { a: 1 }, ...about },
      { kind: 'offline', reason: 'gone', ...about },
    ])
      expect(await events.next()).toEqual({ done: false, value: expected })
  })

  it('returns a photo that was posted during the call, and none from before it', async () => {
    let posted: UploadedPhoto | undefined
    let spent: (deviceId: string) => void = () => undefined
    const vision = {
      issue: () => ({ url: 'http://h:1/v', token: 'k' }),
      collect: () => {
        const picture = posted
        posted = undefined
        return picture
      },
      onSpent: (listener: (deviceId: string) => void) => {
        spent = listener
      },
    }
    const { fleet, far } = attach(createDeviceFleet({ vision }))
    far.discovered()
    posted = { bytes: Uint8Array.of(1), mimeType: 'image/jpeg', receipt: 'r1' }
    const plain = fleet.call(ID, 't', {})
    far.reply(TEXT)
    expect(await plain).toMatchObject({ value: { content: [{ type: 'text' }] } })
    const photo = fleet.call(ID, 't', {})
    posted = { bytes: Uint8Array.of(2), mimeType: 'image/jpeg', receipt: 'r2' }
    spent(ID)
    const next = fleet.call(ID, 't', {})
    far.reply(TEXT)
    expect(await photo).toMatchObject({ value: { content: [{ type: 'image', data: 'Ag==' }, { type: 'text' }] } })
    expect(far.sent.at(-1)).toMatchObject({ payload: { method: 'initialize' } })
    far.reply({ result: {} })
    far.reply(TEXT)
    expect(await next).toMatchObject({ ok: true })
  })

  describe('a photo that is posted after its call was given up', () => {
    const JPEG = { bytes: Uint8Array.of(1), mimeType: 'image/jpeg' }

    /** A call was given up, the next one is on its way, and the old picture was posted with the new token. */
    async function postedLate() {
      const photoUploads = createPhotoUploadService({ url: () => 'http://h:1/v' })
      const { fleet, far } = attach(createDeviceFleet({ vision: photoUploads }))
      const currentToken = () =>
        far.sent
          .map(({ payload }) => payload as { params: { capabilities?: { vision?: { token: string } } } })
          .findLast(({ params }) => params.capabilities !== undefined)?.params.capabilities?.vision?.token ?? ''
      far.discovered()
      const older = currentToken()
      const photo = fleet.call(ID, 't', {}, { timeoutMs: 5 })
      const { id } = (far.sent.at(-1)?.['payload'] ?? {}) as { id?: number }
      expect(await photo).toMatchObject({ fault: { kind: 'timed-out' } })
      expect(photoUploads.redeem(IDENTITY, older)).toBeUndefined()

      const next = fleet.call(ID, 't', {})
      far.reply({ result: {} })
      // A device that reads its token at the last moment posts the old picture with the new one.
      const receipt = photoUploads.redeem(IDENTITY, currentToken())?.(JPEG) ?? ''
      const late = () => far.ears.text(JSON.stringify({ type: 'mcp', payload: { jsonrpc: '2.0', id, ...TEXT } }))
      const answer = (text: string) => far.reply({ result: { content: [{ type: 'text', text }] } })
      return {
        fleet,
        far,
        photoUploads,
        next,
        receipt,
        late,
        answer,
        post: () => photoUploads.redeem(IDENTITY, currentToken())?.(JPEG),
      }
    }

    it('is discarded, whether it comes before or after the next call’s answer, or never', async () => {
      for (const order of ['before', 'after', 'never']) {
        const { next, late, answer } = await postedLate()
        if (order === 'before') late()
        answer('true')
        if (order === 'after') late()
        expect([order, await next]).toMatchObject([order, { ok: true, value: { content: [{ type: 'text' }] } }])
      }
    })

    it('is returned by the next call if the device’s answer names its receipt', async () => {
      const { next, receipt, answer } = await postedLate()
      answer(`{"success":true,"receipt":"${receipt}"}`)
      expect(await next).toMatchObject({ value: { content: [{ type: 'image', data: 'AQ==' }, { type: 'text' }] } })
    })

    it('does not discard photos of later calls once the doubtful call was answered', async () => {
      const { fleet, far, next, late, answer, post } = await postedLate()
      late()
      answer('true')
      await next
      const later = fleet.call(ID, 't', {})
      far.reply({ result: {} })
      expect(post()).toBeDefined()
      answer('true')
      expect(await later).toMatchObject({ value: { content: [{ type: 'image' }, { type: 'text' }] } })
    })
  })

  it('refuses an announcement that the device’s firmware does not support', () => {
    const { fleet, far } = attach()
    far.discovered('2.4.2')
    const notify = { kind: 'notify', audioUrl: 'http://h:1/a.ogg', subtitles: [] } as const
    expect(fleet.announce(ID, notify)).toEqual({
      ok: false,
      fault: { kind: 'unsupported', needs: 'firmware newer than 2.4.2' },
    })
    const { fleet: newer, far: device } = attach(createDeviceFleet())
    device.discovered('2.5.0')
    expect(newer.announce(ID, notify)).toEqual({ ok: true, value: 'sent' })
    expect(device.sent.at(-1)).toMatchObject({ type: 'notify' })
  })

  it('disconnects a device that sends more messages than its budget', () => {
    const { fleet, far } = attach(createDeviceFleet({ clock: manualClock() }))
    for (let each = 0; each < 401; each++) far.ears.text('{"type":"x"}')
    expect(far.closedFor).toBe('too many messages')
    expect(fleet.stats().ignored).toEqual({ x: 400, 'too-many-messages': 1 })
  })

  it('counts unknown message types together once there are more than 64', () => {
    const { fleet, far } = attach()
    for (let each = 0; each < 300; each++) far.ears.text(`{"type":"t${each}"}`)
    expect(Object.keys(fleet.stats().ignored)).toHaveLength(65)
    expect(fleet.stats().ignored['other']).toBe(236)
  })

  it('answers every open call and disconnects devices when it closes', async () => {
    const { fleet, far } = attach()
    far.discovered()
    const calls = [fleet.call(ID, 't', {}), fleet.call(ID, 't', {})]
    fleet.close()
    expect(await Promise.all(calls)).toEqual([
      { ok: false, fault: { kind: 'disconnected', sent: true } },
      { ok: false, fault: { kind: 'disconnected', sent: false } },
    ])
    expect(far.closedFor).toBe('the gateway stops')
    expect(await fleet.call(ID, 't', {})).toMatchObject({ fault: { kind: 'cancelled' } })
    const late = attach(fleet)
    expect(late.far.closedFor).toBe('the gateway stops')
  })

  it('disconnects a device whose message causes an internal error, and serves it when it reconnects', async () => {
    const bugs: string[] = []
    const fleet = createDeviceFleet({
      onStep: (_device, input) => {
        if (input.kind === 'text' && input.text.includes('boom')) throw new Error('boom')
      },
      onBug: (device) => bugs.push(device),
    })
    const { far } = attach(fleet)
    far.discovered()
    far.ears.text('{"type":"boom"}')
    expect([bugs, far.closedFor]).toEqual([[ID], 'an internal error'])
    const call = fleet.call(ID, 't', {})
    far.reply(TEXT)
    expect(await call).toMatchObject({ ok: true })
  })

  it('serves further calls after an internal error that no device message caused', async () => {
    let isBroken = true
    const fleet = createDeviceFleet({
      onStep: (_device, input) => {
        if (input.kind === 'call' && isBroken) throw new Error('boom')
      },
    })
    const { far } = attach(fleet)
    far.discovered()
    await expect(fleet.call(ID, 't', {})).rejects.toThrow('boom')
    isBroken = false
    far.reply(TEXT)
    const call = fleet.call(ID, 't', {})
    far.reply(TEXT)
    expect(await call).toMatchObject({ ok: true })
  })

  it('distinguishes a call that timed out from one that was cancelled', async () => {
    const fleet = createDeviceFleet()
    attach(fleet).far.discovered()
    const over = new AbortController()
    const withdrawn = new AbortController()
    const calls = [over, withdrawn].map(({ signal }) => fleet.call(ID, 't', {}, { signal }))
    over.abort(new DOMException('the deadline of this call has passed', 'TimeoutError'))
    withdrawn.abort()
    expect(await Promise.all(calls)).toMatchObject([
      { fault: { kind: 'timed-out' } },
      { fault: { kind: 'cancelled', sent: false } },
    ])
  })

  it('passes every session step to onStep', () => {
    const steps: string[] = []
    const onStep = (device: string, input: { kind: string }, effects: readonly { kind: string }[]) =>
      steps.push(`${device} ${input.kind} → ${effects.map(({ kind }) => kind).join()}`)
    attach(createDeviceFleet({ onStep })).far.discovered()
    expect(steps).toEqual([`${ID} connected → online,send`, `${ID} text → send`, `${ID} text → tools`])
  })
})
