import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../core/bytes.ts'
import { findBuiltInMethod, listBuiltInMethodPlanes } from './method-plane.ts'

describe('eBUS methods', () => {
  const identity = (deviceId: string, hardware = '1704') =>
    ({ manufacturerCode: 0xb5, manufacturer: 'Vaillant', deviceId, software: '0507', hardware }) as const

  it('offer timers where the product has them, and energy where the hardware counts it', () => {
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
    const result = findBuiltInMethod(plane, name)?.prepare(params as never)
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
  ])('%s %s %j is encoded as %s', (plane, name, params, bytes) => {
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
  ])('%s %j is refused with: %s', (name, params, sentence) => {
    const made = findBuiltInMethod('system', name)?.prepare(params)
    expect(made?.ok === false && made.fault.map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual([
      sentence,
    ])
  })

  it('classify register writes that residents may do as writes, others as sensitive', () => {
    const effect = (addr: number, data: string, group = 3): unknown =>
      prepared('system', 'set_ext_register', { group, instance: 0, addr, data }).effect
    expect(effect(0x22, '0000a841')).toBe('writes')
    expect(effect(0x16, '426174680000')).toBe('sensitive')
    expect(effect(0x0f, '00002041', 2)).toBe('sensitive')
    expect(effect(0x99, '00')).toBe('sensitive')
    expect(prepared('system', 'read_raw', { payload: [2, 0, 0, 0, 0x73, 0] }).effect).toBe('sensitive')
    expect(prepared('system', 'set_register', { addr: '0e04', data: 'b004' }).effect).toBe('sensitive')
  })

  it('refuse data that is longer or shorter than a register with limits', () => {
    const effect = (group: number, addr: number, data: string): unknown => {
      const made = findBuiltInMethod('system', 'set_ext_register')?.prepare({ group, instance: 0, addr, data })
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

  it('refuse values out of the register’s range, and invalid parameters', () => {
    const refused = (name: string, params: object): unknown =>
      findBuiltInMethod('system', name)?.prepare(params as never).ok
    expect(refused('set_ext_register', { group: 3, instance: 0, addr: 0x22, data: '00000842' })).toBe(false)
    expect(refused('set_ext_register', { group: 1, instance: 0, addr: 0x04, data: '0000c07f' })).toBe(false)
    expect(refused('set_ext_register', { group: 3, instance: 0, addr: 0x22 })).toBe(false)
    expect(refused('get_ext_register', { group: 3, instance: 0, addr: 0x22, op: 3 })).toBe(false)
    expect(refused('read_raw', { payload: [] })).toBe(false)
    expect(refused('read_raw', { payload: Array.from({ length: 17 }, () => 0) })).toBe(false)
    expect(refused('read_timer', { sel1: 3, sel2: 0, sel3: 2, weekday: 7 })).toBe(false)
  })

  it('accept a number instead of bytes where the encoding of the register is known', () => {
    const sent = (group: number, addr: number, params: object): unknown => {
      const made = findBuiltInMethod('system', 'set_ext_register')?.prepare({ group, instance: 0, addr, ...params })
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
    // A name is not a number, and what nobody knows has none either.
    for (const addr of [0x16, 0x99]) expect(sent(3, addr, { value: 1 })).toEqual(['params.value'])
  })

  it('describe their parameters with name, type and range', () => {
    expect(findBuiltInMethod('system', 'set_ext_register')?.paramsSchema()).toMatchObject({
      type: 'object',
      required: ['group', 'instance', 'addr'],
      properties: {
        group: { type: 'integer', minimum: 0, maximum: 255 },
        opcode: { enum: [2, 6] },
        data: { anyOf: [{ type: 'array', maxItems: 249 }, { type: 'string' }] },
        value: { type: 'number' },
      },
    })
    expect(findBuiltInMethod('timer', 'read_timer')?.paramsSchema()).toMatchObject({
      properties: { weekday: { type: 'integer', minimum: 0, maximum: 6 } },
    })
    expect(findBuiltInMethod('heating', 'set_target_temp')?.paramsSchema()).toBeUndefined()
  })

  it.each([
    [225, '00 00 00 18 00 e1 00', true],
    [225, '00 00 00 18 00 d2 00', false],
    [225, '00 00 00 17 00 e1 00', false],
    [65_535, '00 00 00 18 00 d2 00', true],
    [225, '03', false],
  ])('confirm a slot written with %i tenths of a degree and read back as %s: %s', (temperature, answer, confirmed) => {
    const times = { start_hour: 0, start_minute: 0, end_hour: 24, end_minute: 0 }
    const write = { zone: 0, hc: 0, weekday: 0, slot: 0, slot_count: 1, ...times, temperature }
    expect(prepared('timer', 'write_timer', write).confirm?.holds(fromHex(answer))).toBe(confirmed)
  })

  it('return null for a value that the device did not send', () => {
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

  it('return error numbers without texts', () => {
    const read = prepared('system', 'get_errors', {})
    expect(read.decode(fromHex('1901 2800 ffff ffff ffff'))).toMatchObject({ codes: { value: [281, 40], valid: true } })
    expect(read.decode(fromHex('ffff ffff ffff ffff ffff'))).toMatchObject({ codes: { value: [], valid: true } })
    expect(read.decode(fromHex('1901'))).toMatchObject({ codes: { value: null, valid: false } })
  })

  it('read the time from both forms of the answer', () => {
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
