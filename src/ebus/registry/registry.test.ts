import { describe, expect, it } from 'vitest'
import { fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import { ebusVectors as vectors } from '../../../test/ebus-vectors.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import { BusDeviceRegistry } from './device-registry.ts'
import { DiscoveryProbeScheduler } from './discovery.ts'
import { findHeatingProduct } from './heating-product.ts'

const BAI = fromHex('b5 4241493030 0603 9602')
const BASV = fromHex('b5 4241535632 0507 1704')

function exchange(text: string, response?: Uint8Array): TelegramExchange {
  const [source = 0, target = 0, primary = 0, secondary = 0, ...data] = fromHex(text)
  const telegram = { source, target, primary, secondary, data: Uint8Array.from(data) }
  return { telegram, response, commandRepeats: 0, responseRepeats: 0 }
}

describe('heating product', () => {
  const known = (id: string, code = 0xb5): ReturnType<typeof findHeatingProduct> =>
    findHeatingProduct({ manufacturerCode: code, manufacturer: '', deviceId: id, software: '', hardware: '0000' })

  it.each(vectors.products)('$id is recognised as $file describes it', ({ id, kind, extended, timers }) => {
    expect(known(id)).toMatchObject({ kind, extended, timers })
  })

  it.each([
    ['BAI00', 'boiler', 'none', 'bai'],
    ['HMU00', 'heat-pump', 'none', 'hmu'],
    ['BASV2', 'regulator', 'b555', 'none'],
    ['CTLV2', 'regulator', 'b555', 'none'],
    ['72000', 'regulator', 'b555', 'none'],
    ['70000', 'regulator', 'b524', 'none'],
    ['700f0', 'regulator', 'b524', 'none'],
    ['VR_71', 'module', 'none', 'none'],
    ['NETX3', 'internet-gateway', 'none', 'none'],
    ['XYZ99', 'other', 'none', 'none'],
  ])('%s is a %s with timers %s and registers %s', (id, kind, timers, registers) => {
    expect(known(id)).toMatchObject({ kind, timers, registers })
  })

  it('is recognised by its id for its own manufacturer only', () => {
    expect(known('BAI00', 0x19).kind).toBe('other')
  })
})

describe('bus device registry', () => {
  it('treats an address as a candidate, and as corroborated when it is heard again', () => {
    const registry = new BusDeviceRegistry()
    const broadcast = exchange('10 fe 0700 00')
    registry.handleExchange(broadcast, false, 1)
    expect(registry.slot(0x10)).toMatchObject({ state: 'candidate', source: 'passive_observed' })
    registry.handleExchange(broadcast, false, 2)
    registry.handleExchange(broadcast, false, 3)
    expect(registry.slot(0x10)).toMatchObject({ state: 'corroborated_pending', lastSeenMs: 3 })
  })

  it('confirms the identity of a device once it has answered an identification', () => {
    const registry = new BusDeviceRegistry()
    registry.handleExchange(exchange('31 08 0704', BAI), true, 1)
    expect(registry.slot(0x08)).toMatchObject({ state: 'identity_confirmed', source: 'active_confirmed' })
    registry.handleExchange(exchange('10 15 0704', BASV), false, 1)
    expect(registry.slot(0x15)).toMatchObject({ state: 'identity_confirmed', source: 'passive_observed' })
    // Whoever asks on our behalf is us, and we are no device of this list.
    expect(registry.slot(0x31)).toBeUndefined()
  })

  it('accepts the identification that a device broadcasts', () => {
    const registry = new BusDeviceRegistry()
    registry.handleExchange(exchange(`03 fe 0704 ${toHex(BAI)}`), false, 1)
    expect(registry.find(0x03)).toMatchObject({
      address: 0x08,
      addresses: [0x03, 0x08],
      identity: { deviceId: 'BAI00' },
    })
  })

  it('joins an initiator with its target address, and addresses with one serial number', () => {
    const registry = new BusDeviceRegistry()
    registry.handleExchange(exchange('10 fe 0700 00'), false, 1)
    for (const target of ['15', 'ec']) {
      registry.handleExchange(exchange(`31 ${target} 0704`, BASV), true, 1)
      for (const [chunk, text] of ['21213400', '20260914', '09380063', '69N4    '].entries())
        registry.handleExchange(
          exchange(`31 ${target} b509 ${(0x24 + chunk).toString(16)}`, Uint8Array.of(0, ...toUtf8(text))),
          true,
          1,
        )
    }
    expect(registry.devices()).toEqual([
      expect.objectContaining({ address: 0x15, addresses: [0x10, 0x15, 0xec], serial: '21213400202609140938006369N4' }),
    ])
    expect(registry.find(0xec)?.address).toBe(0x15)
  })

  it.each(vectors.serial_numbers)(
    'joins addresses by the serial number that a real device sends in parts',
    (vector) => {
      const registry = new BusDeviceRegistry()
      for (const target of ['08', '76']) {
        registry.handleExchange(exchange(`31 ${target} 0704`, fromHex('b5 484d553030 0902 5103')), true, 1)
        for (const [chunk, piece] of vector.pieces.entries())
          registry.handleExchange(exchange(`31 ${target} b509 ${(0x24 + chunk).toString(16)}`, fromHex(piece)), true, 1)
      }
      expect(registry.devices()).toEqual([
        expect.objectContaining({ address: 0x08, addresses: [0x08, 0x76], serial: vector.serial }),
      ])
    },
  )

  it('does not join addresses by a serial number of zeros', () => {
    const registry = new BusDeviceRegistry()
    for (const target of ['52', '53']) {
      registry.handleExchange(exchange(`31 ${target} 0704`, fromHex('b5 56525f3730 0109 2903')), true, 1)
      for (const chunk of ['24', '25', '26', '27'])
        registry.handleExchange(exchange(`31 ${target} b509 ${chunk}`, fromHex('003030303030303030')), true, 1)
    }
    expect(registry.devices()).toHaveLength(2)
  })

  it('keeps two devices with the same identification apart', () => {
    const registry = new BusDeviceRegistry()
    for (const target of ['52', '53'])
      registry.handleExchange(exchange(`31 ${target} 0704`, fromHex('b5 56525f3730 0109 2903')), true, 1)
    expect(registry.devices().map(({ addresses }) => addresses)).toEqual([[0x52], [0x53]])
  })

  it('forgets the serial number when the identification at an address changes', () => {
    const registry = new BusDeviceRegistry()
    registry.handleExchange(exchange('31 15 0704', BASV), true, 1)
    registry.handleExchange(exchange('31 15 b509 24', Uint8Array.of(0, ...toUtf8('21213400'))), true, 1)
    registry.handleExchange(exchange('31 15 0704', fromHex('b5 4354 4c5632 0514 1104')), true, 2)
    expect(registry.slot(0x15)).toMatchObject({ identity: { deviceId: 'CTLV2' }, serialChunks: [] })
  })

  it('lists configured addresses before they are heard', () => {
    const registry = new BusDeviceRegistry()
    registry.seed([0x76])
    expect(registry.devices()).toEqual([expect.objectContaining({ address: 0x76, identity: undefined })])
    expect(registry.slot(0x76)).toMatchObject({ source: 'static_seed', state: 'candidate' })
  })
})

describe('discovery', () => {
  it('probes usual and heard addresses, and never its own', () => {
    const registry = new BusDeviceRegistry()
    registry.handleExchange(exchange('70 fe 0700 00'), false, 1)
    const discovery = new DiscoveryProbeScheduler('heard')
    const probed: number[] = []
    for (
      let probe = discovery.next(registry, 0x03, 0);
      probe !== undefined;
      probe = discovery.next(registry, 0x03, 0)
    ) {
      probed.push(probe.address)
      discovery.settle(probe, 'answered', 0)
    }
    expect(probed).toEqual([0x15, 0x26, 0xf6, 0xec, 0x76, 0x52, 0x35, 0x75])
    expect(discovery.isThrough(registry)).toBe(false)
  })

  it('repeats an unclear probe soon, and probes absent addresses less and less often', () => {
    const registry = new BusDeviceRegistry()
    const discovery = new DiscoveryProbeScheduler('heard')
    const first = { kind: 'identity', address: 0x15 } as const
    discovery.settle(first, 'unclear', 0)
    expect(discovery.next(registry, undefined, 3_000)).toEqual(first)
    for (let pass = 0; pass < 3; pass++) discovery.settle(first, 'absent', 0)
    expect(discovery.next(registry, undefined, 100_000)).not.toEqual(first)
    expect(discovery.next(registry, undefined, 600_000)).toEqual(first)
  })

  it('probes every address in mode full, and none in mode off', () => {
    const registry = new BusDeviceRegistry()
    const all = new DiscoveryProbeScheduler('full')
    const probed = new Set<number>()
    for (let probe = all.next(registry, undefined, 0); probe !== undefined; probe = all.next(registry, undefined, 0)) {
      probed.add(probe.address)
      all.settle(probe, 'absent', 0)
    }
    expect(probed.size).toBe(228)
    expect(new DiscoveryProbeScheduler('off').next(registry, undefined, 0)).toBeUndefined()
  })

  it('asks a Vaillant device for the parts of its serial number', () => {
    const registry = new BusDeviceRegistry()
    registry.handleExchange(exchange('31 08 0704', BAI), true, 1)
    const discovery = new DiscoveryProbeScheduler('heard')
    for (
      let probe = discovery.next(registry, undefined, 0);
      probe?.kind === 'identity';
      probe = discovery.next(registry, undefined, 0)
    )
      discovery.settle(probe, 'answered', 0)
    expect(discovery.next(registry, undefined, 0)).toEqual({ kind: 'serial', address: 0x08, chunk: 0 })
  })
})
