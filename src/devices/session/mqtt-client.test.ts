import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startAutoSubscribingBroker } from '../../../test/auto-subscribing-broker.ts'
import type { OtherBroker } from '../../../test/auto-subscribing-broker.ts'
import { concatBytes, toUtf8 } from '../../core/bytes.ts'
import { manualClock } from '../../../test/manual-clock.ts'
import { encodeMqttConnect, encodeMqttPublish } from '../wire/mqtt-broker-packet.ts'
import type { MqttBrokerConnection } from './mqtt-client.ts'
import { connectMqttBroker } from './mqtt-client.ts'

const IDENTITY = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }

describe('MQTT client', () => {
  const clock = manualClock()
  let broker: OtherBroker
  let devices: MqttBrokerConnection
  let subscribed: boolean
  let arrived: number
  let attached: number
  let received: string[]
  let closed: string[]
  beforeEach(async () => {
    ;[subscribed, arrived, attached, received, closed] = [false, 0, 0, [], []]
    broker = await startAutoSubscribingBroker()
    devices = connectMqttBroker({
      url: `mqtt://127.0.0.1:${broker.port}`,
      uplink: 'devices/up/{device}',
      downlink: 'devices/down/{device}',
      acceptor: {
        attach: () => {
          attached++
          return {
            text: (text) => void received.push(text),
            audio: () => undefined,
            stir: () => undefined,
            closed: (reason) => void closed.push(reason),
          }
        },
      },
      recognise: () => {
        arrived++
        return IDENTITY
      },
      // Asked for as soon as the broker has confirmed the subscription.
      devices: () => {
        subscribed = true
        return []
      },
      clock,
    })
    await vi.waitUntil(() => subscribed, { timeout: 60_000 })
  })
  afterEach(async () => {
    await devices.close()
    await broker.stop()
  })

  it('ignores a device that exceeds its message budget for a while, also after it reconnects', async () => {
    const socket = connect(broker.port, '127.0.0.1')
    socket.write(encodeMqttConnect({ clientId: 'd', username: 'u', password: 'p', keepAliveSeconds: 240 }))
    await once(socket, 'data')
    const say = (text: string, times = 1) => {
      const packet = encodeMqttPublish('devices/up/a0_b1_c2_d3_e4_f5', toUtf8(text))
      socket.write(concatBytes(...Array.from({ length: times }, () => packet)))
    }
    say('x', 400)
    await expect.poll(() => received).toHaveLength(400)
    say('x', 600)
    await expect.poll(() => arrived).toBe(1_000)
    expect(closed).toEqual(['too many messages'])
    clock.advance(9_999)
    say('too early', 600)
    await expect.poll(() => arrived).toBe(1_600)
    clock.advance(11)
    say('again')
    await expect.poll(() => received.slice(400)).toEqual(['again'])
    expect([attached, closed]).toEqual([2, ['too many messages']])
    socket.destroy()
  })
})
