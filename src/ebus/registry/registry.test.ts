import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import { ebusVectors as vectors } from '../../../test/ebus-vectors.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import { BusDeviceRegistry } from './device-registry.ts'
import { DeviceDiscovery } from './discovery.ts'
import { decodeIdentity, decodeSerialChunk } from './device-identity.ts'
import { findDeviceMethod, listBuiltInMethodPlanes } from './method-plane.ts'
import { findHeatingProduct } from './heating-product.ts'

const BAI = fromHex('b5 4241493030 0603 9602')
const BASV = fromHex('b5 4241535632 0507 1704')

function exchange(text: string, response?: Uint8Array): TelegramExchange {
  const [source = 0, target = 0, primary = 0, secondary = 0, ...data] = fromHex(text)
  const telegram = { source, target, primary, secondary, data: Uint8Array.from(data) }
  return { telegram, response, commandRepeats: 0, responseRepeats: 0 }
}

describe('identity', () => {
  it('reads what a device says about itself', () => {
    expect(decodeIdentity(BAI)).toEqual({
      ok: true,
      value: {
        manufacturerCode: 0xb5,
        manufacturer: 'Vaillant',
        deviceId: 'BAI00',
        software: '0603',
        hardware: '9602',
      },
    })
    expect(decodeIdentity(fromHex('42 2020202000 0100 0000'))).toMatchObject({
      value: { manufacturer: '0x42', deviceId: '' },
    })
  })

  it('refuses what is too short to be one', () => {
    expect(decodeIdentity(fromHex('b5 4241'))).toEqual({ ok: false, fault: { kind: 'too-short', got: 3 } })
  })

  it('takes a piece of a serial number with its status byte and without', () => {
    expect(decodeSerialChunk(0, Uint8Array.of(0, ...toUtf8('21160900')))).toBe('21160900')
    expect(decodeSerialChunk(0, toUtf8('21160900'))).toBe('21160900')
    expect(decodeSerialChunk(2, Uint8Array.of(0, ...toUtf8('09380063')))).toBe('09380063')
    expect(decodeSerialChunk(1, fromHex('00'))).toBeUndefined()
    expect(decodeSerialChunk(1, new Uint8Array())).toBeUndefined()
  })

  it('never throws, whatever a device answers', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (answer) => {
        expect(decodeIdentity(answer).ok).toBe(answer.length >= 10)
        expect(decodeSerialChunk(1, answer)?.length ?? 1).toBeLessThan(10)
      }),
    )
  })
})

describe('product', () => {
  const known = (id: string, code = 0xb5): ReturnType<typeof findHeatingProduct> =>
    findHeatingProduct({ manufacturerCode: code, manufacturer: '', deviceId: id, software: '', hardware: '0000' })

  it.each(vectors.products)('$id is what $file makes of it', ({ id, kind, extended, timers }) => {
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

  it('believes a product id only of the manufacturer who gives them', () => {
    expect(known('BAI00', 0x19).kind).toBe('other')
  })
})

describe('device registry', () => {
  it('takes an address for a candidate first, and for more when it is heard again', () => {
    const registry = new BusDeviceRegistry()
    const heard = exchange('10 fe 0700 00')
    registry.hear(heard, false, 1)
    expect(registry.slot(0x10)).toMatchObject({ state: 'candidate', source: 'passive_observed' })
    registry.hear(heard, false, 2)
    registry.hear(heard, false, 3)
    expect(registry.slot(0x10)).toMatchObject({ state: 'corroborated_pending', lastSeenMs: 3 })
  })

  it('is certain once a device has said who it is', () => {
    const registry = new BusDeviceRegistry()
    registry.hear(exchange('31 08 0704', BAI), true, 1)
    expect(registry.slot(0x08)).toMatchObject({ state: 'identity_confirmed', source: 'active_confirmed' })
    registry.hear(exchange('10 15 0704', BASV), false, 1)
    expect(registry.slot(0x15)).toMatchObject({ state: 'identity_confirmed', source: 'passive_observed' })
    // Whoever asks on our behalf is us, and we are no device of this list.
    expect(registry.slot(0x31)).toBeUndefined()
  })

  it('believes a device that introduces itself to everybody', () => {
    const registry = new BusDeviceRegistry()
    registry.hear(exchange(`03 fe 0704 ${toHex(BAI)}`), false, 1)
    expect(registry.find(0x03)).toMatchObject({
      address: 0x08,
      addresses: [0x03, 0x08],
      identity: { deviceId: 'BAI00' },
    })
  })

  it('joins an initiator and its target face, and faces with one serial number', () => {
    const registry = new BusDeviceRegistry()
    registry.hear(exchange('10 fe 0700 00'), false, 1)
    for (const target of ['15', 'ec']) {
      registry.hear(exchange(`31 ${target} 0704`, BASV), true, 1)
      for (const [chunk, text] of ['21213400', '20260914', '09380063', '69N4    '].entries())
        registry.hear(
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

  it.each(vectors.serial_numbers)('joins faces by a serial number in the pieces of a real device', (vector) => {
    const registry = new BusDeviceRegistry()
    for (const target of ['08', '76']) {
      registry.hear(exchange(`31 ${target} 0704`, fromHex('b5 484d553030 0902 5103')), true, 1)
      for (const [chunk, piece] of vector.pieces.entries())
        registry.hear(exchange(`31 ${target} b509 ${(0x24 + chunk).toString(16)}`, fromHex(piece)), true, 1)
    }
    expect(registry.devices()).toEqual([
      expect.objectContaining({ address: 0x08, addresses: [0x08, 0x76], serial: vector.serial }),
    ])
  })

  it('joins nobody by a serial number of nothing but zeros', () => {
    const registry = new BusDeviceRegistry()
    for (const target of ['52', '53']) {
      registry.hear(exchange(`31 ${target} 0704`, fromHex('b5 56525f3730 0109 2903')), true, 1)
      for (const chunk of ['24', '25', '26', '27'])
        registry.hear(exchange(`31 ${target} b509 ${chunk}`, fromHex('003030303030303030')), true, 1)
    }
    expect(registry.devices()).toHaveLength(2)
  })

  it('keeps two devices that merely look alike apart', () => {
    const registry = new BusDeviceRegistry()
    for (const target of ['52', '53'])
      registry.hear(exchange(`31 ${target} 0704`, fromHex('b5 56525f3730 0109 2903')), true, 1)
    expect(registry.devices().map(({ addresses }) => addresses)).toEqual([[0x52], [0x53]])
  })

  it('forgets the serial number of a device that was replaced', () => {
    const registry = new BusDeviceRegistry()
    registry.hear(exchange('31 15 0704', BASV), true, 1)
    registry.hear(exchange('31 15 b509 24', Uint8Array.of(0, ...toUtf8('21213400'))), true, 1)
    registry.hear(exchange('31 15 0704', fromHex('b5 4354 4c5632 0514 1104')), true, 2)
    expect(registry.slot(0x15)).toMatchObject({ identity: { deviceId: 'CTLV2' }, serialChunks: [] })
  })

  it('shows addresses that the owner knows of before anybody has heard them', () => {
    const registry = new BusDeviceRegistry()
    registry.seed([0x76])
    expect(registry.devices()).toEqual([expect.objectContaining({ address: 0x76, identity: undefined })])
    expect(registry.slot(0x76)).toMatchObject({ source: 'static_seed', state: 'candidate' })
  })
})

describe('discovery', () => {
  it('asks the usual addresses and whoever was heard, and our own never', () => {
    const registry = new BusDeviceRegistry()
    registry.hear(exchange('70 fe 0700 00'), false, 1)
    const discovery = new DeviceDiscovery('heard')
    const asked: number[] = []
    for (
      let probe = discovery.next(registry, 0x03, 0);
      probe !== undefined;
      probe = discovery.next(registry, 0x03, 0)
    ) {
      asked.push(probe.address)
      discovery.settle(probe, 'answered', 0)
    }
    expect(asked).toEqual([0x15, 0x26, 0xf6, 0xec, 0x76, 0x52, 0x35, 0x75])
    expect(discovery.isThrough(registry)).toBe(false)
  })

  it('asks again soon when it was unclear, less and less often when nobody is there', () => {
    const registry = new BusDeviceRegistry()
    const discovery = new DeviceDiscovery('heard')
    const first = { kind: 'identity', address: 0x15 } as const
    discovery.settle(first, 'unclear', 0)
    expect(discovery.next(registry, undefined, 3_000)).toEqual(first)
    for (let pass = 0; pass < 3; pass++) discovery.settle(first, 'absent', 0)
    expect(discovery.next(registry, undefined, 100_000)).not.toEqual(first)
    expect(discovery.next(registry, undefined, 600_000)).toEqual(first)
  })

  it('asks every address there is when it is told to, and nobody when it is told not to', () => {
    const registry = new BusDeviceRegistry()
    const all = new DeviceDiscovery('full')
    const asked = new Set<number>()
    for (let probe = all.next(registry, undefined, 0); probe !== undefined; probe = all.next(registry, undefined, 0)) {
      asked.add(probe.address)
      all.settle(probe, 'absent', 0)
    }
    expect(asked.size).toBe(228)
    expect(new DeviceDiscovery('off').next(registry, undefined, 0)).toBeUndefined()
  })

  it('asks a Vaillant device for the pieces of its serial number', () => {
    const registry = new BusDeviceRegistry()
    registry.hear(exchange('31 08 0704', BAI), true, 1)
    const discovery = new DeviceDiscovery('heard')
    for (
      let probe = discovery.next(registry, undefined, 0);
      probe?.kind === 'identity';
      probe = discovery.next(registry, undefined, 0)
    )
      discovery.settle(probe, 'answered', 0)
    expect(discovery.next(registry, undefined, 0)).toEqual({ kind: 'serial', address: 0x08, chunk: 0 })
  })
})

describe('methods', () => {
  const identity = (deviceId: string, hardware = '1704') =>
    ({ manufacturerCode: 0xb5, manufacturer: 'Vaillant', deviceId, software: '0507', hardware }) as const

  it('offers timers where the product has them and energy where the hardware counts it', () => {
    expect(listBuiltInMethodPlanes(identity('BASV2')).map(({ name }) => name)).toEqual([
      'dhw',
      'heating',
      'system',
      'timer',
    ])
    expect(listBuiltInMethodPlanes(identity('70000')).map(({ name }) => name)).toEqual(['dhw', 'heating', 'system'])
    expect(listBuiltInMethodPlanes(identity('VR_71')).map(({ name }) => name)).toEqual(['solar', 'system'])
    expect(listBuiltInMethodPlanes(undefined)).toEqual([])
    const names = (hardware: string): readonly string[] =>
      listBuiltInMethodPlanes(identity('BAI00', hardware))[0]?.methods.map(({ name }) => name) ?? []
    expect(names('7603')).toContain('get_energy_stats')
    expect(names('7602')).not.toContain('get_energy_stats')
  })

  const prepared = (plane: string, name: string, params: object) => {
    const result = findDeviceMethod(plane, name)?.prepare(params as never)
    if (result?.ok !== true) throw new Error(JSON.stringify(result))
    return result.value
  }

  it.each([
    ['system', 'get_operational_data', { op: 0 }, '00'],
    ['system', 'get_errors', {}, '0001'],
    ['system', 'get_errors', { kind: 'service' }, '0002'],
    ['system', 'get_error_history', { index: 3 }, '010103'],
    ['system', 'get_register', { addr: '1800' }, '0d1800'],
    ['system', 'get_register', { addr: 0x1800 }, '0d1800'],
    ['system', 'get_register', { addr: [0x18, 0x00] }, '0d1800'],
    ['system', 'set_register', { addr: '0e04', data: 'b004' }, '0e0e04b004'],
    ['system', 'get_ext_register', { group: 3, instance: 1, addr: 0x22 }, '020003012200'],
    ['system', 'get_ext_register', { group: 9, instance: 0, addr: 0x0f, opcode: 6 }, '060009000f00'],
    [
      'system',
      'set_ext_register',
      { group: 3, instance: 0, addr: 0x22, payload: [0, 0, 0xa8, 0x41] },
      '0201030022000000a841',
    ],
    ['system', 'read_timer', { sel1: 3, sel2: 0, sel3: 2, weekday: 6 }, '0303000206'],
    ['system', 'read_raw', { payload: [0x00, 0x02, 0x00] }, '000200'],
    ['timer', 'read_timer_config', { zone: 0, hc: 0 }, 'a30000'],
    ['timer', 'read_timer', { zone: 0, hc: 0, weekday: 0, slot: 0 }, 'a500000000'],
    [
      'timer',
      'write_timer',
      {
        zone: 255,
        hc: 2,
        weekday: 3,
        slot: 1,
        slot_count: 2,
        start_hour: 5,
        start_minute: 30,
        end_hour: 24,
        end_minute: 0,
        temperature: 65535,
      },
      'a6ff02030102051e1800ffff',
    ],
  ])('%s %s %j is %s on the wire', (plane, name, params, bytes) => {
    expect(toHex(prepared(plane, name, params).data)).toBe(bytes)
  })

  it.each([
    [
      'get_register',
      { addr: '0x1800' },
      'params.addr: a number, four hex digits such as "0073", or two bytes, high byte first',
    ],
    ['get_register', {}, 'params.addr: a number, four hex digits such as "0073", or two bytes, high byte first'],
    [
      'read_raw',
      { payload: Array.from({ length: 17 }, () => 0) },
      'params.payload: 1 to 16 bytes, as a list of numbers or as hex digits in pairs',
    ],
    ['read_raw', { payload: '2' }, 'params.payload: hex digits in pairs'],
    [
      'get_ext_register',
      { group: 0, instance: 0, addr: 1, opcode: 3 },
      'params.opcode: Invalid option: expected one of 2|6',
    ],
  ])('%s %j says what is wanted: %s', (name, params, sentence) => {
    const made = findDeviceMethod('system', name)?.prepare(params)
    expect(made?.ok === false && made.fault.map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual([
      sentence,
    ])
  })

  it('tells what a resident may change from what needs a person', () => {
    const effect = (addr: number, data: string, group = 3): unknown =>
      prepared('system', 'set_ext_register', { group, instance: 0, addr, data }).effect
    expect(effect(0x22, '0000a841')).toBe('writes')
    expect(effect(0x16, '426174680000')).toBe('sensitive')
    expect(effect(0x0f, '00002041', 2)).toBe('sensitive')
    expect(effect(0x99, '00')).toBe('sensitive')
    expect(prepared('system', 'read_raw', { payload: [2, 0, 0, 0, 0x73, 0] }).effect).toBe('sensitive')
    expect(prepared('system', 'set_register', { addr: '0e04', data: 'b004' }).effect).toBe('sensitive')
  })

  it('refuses bytes behind or short of a value whose limits it looks at', () => {
    const effect = (group: number, addr: number, data: string): unknown => {
      const made = findDeviceMethod('system', 'set_ext_register')?.prepare({ group, instance: 0, addr, data })
      return made?.ok === true ? made.value.effect : made?.fault.map(({ path }) => path.join('.'))
    }
    const refused = ['params.data']
    expect(effect(3, 0x22, `0000a841${'ff'.repeat(40)}`)).toEqual(refused)
    expect(effect(3, 0x22, '0000a8')).toEqual(refused)
    expect(effect(3, 0x06, '0100')).toBe('writes')
    expect(effect(3, 0x06, '010000')).toEqual(refused)
    expect(effect(3, 0x0e, '00')).toBe('writes')
    expect(effect(3, 0x0e, '0000')).toEqual(refused)
    // Flags come as one byte or two.
    expect(effect(0, 0x07, '01')).toBe('writes')
    expect(effect(0, 0x07, '0100')).toBe('writes')
    expect(effect(0, 0x07, '01ff')).toEqual(refused)
    expect(effect(0, 0x07, '010000')).toEqual(refused)
  })

  it('refuses values beyond what the register takes, and parameters that are none', () => {
    const refused = (name: string, params: object): unknown =>
      findDeviceMethod('system', name)?.prepare(params as never).ok
    expect(refused('set_ext_register', { group: 3, instance: 0, addr: 0x22, data: '00000842' })).toBe(false)
    expect(refused('set_ext_register', { group: 1, instance: 0, addr: 0x04, data: '0000c07f' })).toBe(false)
    expect(refused('set_ext_register', { group: 3, instance: 0, addr: 0x22 })).toBe(false)
    expect(refused('get_ext_register', { group: 3, instance: 0, addr: 0x22, op: 3 })).toBe(false)
    expect(refused('read_raw', { payload: [] })).toBe(false)
    expect(refused('read_raw', { payload: Array.from({ length: 17 }, () => 0) })).toBe(false)
    expect(refused('read_timer', { sel1: 3, sel2: 0, sel3: 2, weekday: 7 })).toBe(false)
  })

  it('takes a number in the place of bytes where it knows how the register writes one', () => {
    const sent = (group: number, addr: number, params: object): unknown => {
      const made = findDeviceMethod('system', 'set_ext_register')?.prepare({ group, instance: 0, addr, ...params })
      return made?.ok === true
        ? `${toHex(made.value.data)} ${made.value.effect}`
        : made?.fault.map(({ path }) => path.join('.'))
    }
    expect(sent(3, 0x22, { value: 22 })).toBe('0201030022000000b041 writes')
    expect(sent(3, 0x06, { value: 2 })).toBe('0201030006000200 writes')
    expect(sent(0, 0x07, { value: 1 })).toBe('02010000070001 writes')
    expect(sent(2, 0x0f, { value: 1 })).toBe('020102000f000000803f sensitive')
    for (const wrong of [{ value: 31 }, { value: Number.MAX_VALUE }, { value: 22, data: '0000b041' }])
      expect(sent(3, 0x22, wrong)).toEqual(['params.value'])
    for (const wrong of [1.5, -1, 3, 65_535]) expect(sent(3, 0x06, { value: wrong })).toEqual(['params.value'])
    // A name is no number, and what nobody knows has none either.
    for (const addr of [0x16, 0x99]) expect(sent(3, addr, { value: 1 })).toEqual(['params.value'])
  })

  it('says what it takes, by name, kind and range', () => {
    expect(findDeviceMethod('system', 'set_ext_register')?.paramsSchema()).toMatchObject({
      type: 'object',
      required: ['group', 'instance', 'addr'],
      properties: {
        group: { type: 'integer', minimum: 0, maximum: 255 },
        opcode: { enum: [2, 6] },
        data: { anyOf: [{ type: 'array', maxItems: 249 }, { type: 'string' }] },
        value: { type: 'number' },
      },
    })
    expect(findDeviceMethod('timer', 'read_timer')?.paramsSchema()).toMatchObject({
      properties: { weekday: { type: 'integer', minimum: 0, maximum: 6 } },
    })
    expect(findDeviceMethod('heating', 'set_target_temp')?.paramsSchema()).toBeUndefined()
  })

  it.each([
    [225, '00 00 00 18 00 e1 00', true],
    [225, '00 00 00 18 00 d2 00', false],
    [225, '00 00 00 17 00 e1 00', false],
    [65_535, '00 00 00 18 00 d2 00', true],
    [225, '03', false],
  ])('a slot told %i tenths and read back as %s is confirmed: %s', (temperature, answer, confirmed) => {
    const times = { start_hour: 0, start_minute: 0, end_hour: 24, end_minute: 0 }
    const write = { zone: 0, hc: 0, weekday: 0, slot: 0, slot_count: 1, ...times, temperature }
    expect(prepared('timer', 'write_timer', write).confirm?.holds(fromHex(answer))).toBe(confirmed)
  })

  it('gives no value where the device gave none', () => {
    const read = prepared('system', 'get_ext_register', { group: 3, instance: 0, addr: 0x22 })
    expect(read.decode(fromHex('0303 2200 0000a841'))).toMatchObject({
      prefix: { value: '03032200' },
      value: { value: '0000a841', valid: true },
      decoded: { value: 21, valid: true },
      reply_addr_hex: { value: '0022' },
      constraint_max: { value: 30 },
    })
    expect(read.decode(new Uint8Array())).toMatchObject({
      value: { value: null, valid: false },
      prefix: { valid: false },
    })
    expect(prepared('system', 'get_register', { addr: 1 }).decode(fromHex('00'))).toMatchObject({
      value: { valid: false },
    })
  })

  it('reads the numbers of errors, and no text that nobody has written down', () => {
    const read = prepared('system', 'get_errors', {})
    expect(read.decode(fromHex('1901 2800 ffff ffff ffff'))).toMatchObject({ codes: { value: [281, 40], valid: true } })
    expect(read.decode(fromHex('ffff ffff ffff ffff ffff'))).toMatchObject({ codes: { value: [], valid: true } })
    expect(read.decode(fromHex('1901'))).toMatchObject({ codes: { value: null, valid: false } })
  })

  it('reads the time from both forms of the answer', () => {
    const read = prepared('system', 'get_operational_data', { op: 0 })
    expect(read.decode(fromHex('0354091806100321f00d'))).toMatchObject({
      dcfstate: { value: 3 },
      time_hour: { value: 18 },
      time_minute: { value: 9 },
      date_day: { value: 6 },
      date_month: { value: 10 },
      date_year: { value: 2021 },
      temp: { value: 13.9375 },
    })
  })
})
