import { describe, expect, it } from 'vitest'
import { fail, ok } from '../../core/result.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import type { DeviceFault } from '../session/device-fault.ts'
import { mapDeviceFaultToCallFault, toDeviceOutcome } from './device-outcome.ts'
import { toDeviceErrorJson } from './devices-envelope.ts'

const called = { slug: 'den', effect: 'writes' } as const
const text = (...texts: string[]): ToolResult => ({
  content: texts.map((each) => ({ type: 'text', text: each })),
  isError: false,
  structured: undefined,
})
const valueOf = (result: ToolResult) => {
  const outcome = toDeviceOutcome(ok(result), called)
  return outcome.ok ? outcome.value.data : outcome.fault
}

describe('the outcome of a device tool', () => {
  it('is the parsed JSON of its text, or the text itself', () => {
    expect(valueOf(text('true'))).toEqual({ device: 'den', value: true })
    expect(valueOf(text('{"level":90}'))).toEqual({ device: 'den', value: { level: 90 } })
    expect(valueOf(text('it rains'))).toEqual({ device: 'den', value: 'it rains' })
    expect(valueOf(text('1', 'two'))).toEqual({ device: 'den', value: [1, 'two'] })
    expect(valueOf(text())).toEqual({ device: 'den', value: null })
  })

  it('replaces lone surrogates, so that it can be recorded', () => {
    expect(valueOf(text('"\uD800"'))).toEqual({ device: 'den', value: '\uFFFD' })
    expect(valueOf(text(String.raw`{"a":"\udfff"}`))).toEqual({ device: 'den', value: { a: '\uFFFD' } })
  })

  it.each([
    '1e999',
    '-1e400',
    '{"a":1e400}',
    '9007199254740993',
    '0.12345678901234567890',
    '{"__proto__":{"x":1}}',
    `${'['.repeat(40)}${']'.repeat(40)}`,
  ])('stays text where parsing it as JSON would lose something: %s', (given) => {
    expect(valueOf(text(given))).toEqual({ device: 'den', value: given })
  })

  it.each([
    ['21.50', 21.5],
    ['1e3', 1_000],
    ['-0.5', -0.5],
    ['9007199254740991', 9_007_199_254_740_991],
    [' 7\n', 7],
  ])('parses %j as a number', (given, value) => {
    expect(valueOf(text(given))).toEqual({ device: 'den', value })
  })

  it('counts images, and returns them as content instead of data', () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/jpeg' } as const
    const outcome = toDeviceOutcome(ok({ content: [image], isError: false, structured: undefined }), called)
    expect(outcome).toEqual(ok({ data: { device: 'den', value: null, images: 1 }, content: [image] }))
  })

  it('is a failure in the device’s own words if it is flagged as an error', () => {
    const result = { ...text('no such\u0007 servo "tail"'), isError: true }
    expect(toDeviceOutcome(ok(result), called)).toEqual(
      fail({ kind: 'failed', message: 'no such servo "tail"', details: { device: 'den' } }),
    )
  })
})

describe('a device fault', () => {
  const kind = (fault: DeviceFault, effect: 'reads' | 'writes' = 'writes') =>
    mapDeviceFaultToCallFault(fault, { slug: 'den', effect }).kind

  it.each<[DeviceFault, string, string]>([
    [{ kind: 'asleep', device: 'den', wakesItself: false }, 'offline', 'offline'],
    [{ kind: 'expired', afterMs: 1, asleep: true }, 'offline', 'offline'],
    [{ kind: 'expired', afterMs: 1, asleep: false }, 'busy', 'busy'],
    [{ kind: 'disconnected', sent: false }, 'offline', 'offline'],
    [{ kind: 'disconnected', sent: true }, 'failed', 'unknown-outcome'],
    [{ kind: 'timed-out', afterMs: 1 }, 'timed-out', 'timed-out'],
    [{ kind: 'cancelled', sent: true }, 'cancelled', 'cancelled'],
    [{ kind: 'cancelled', sent: false }, 'busy', 'busy'],
    [{ kind: 'bad-answer', problem: 'x' }, 'failed', 'unknown-outcome'],
    [{ kind: 'queue-full', limit: 16 }, 'busy', 'busy'],
    [{ kind: 'unknown-tool', tool: 'x', listed: true }, 'not-found', 'not-found'],
    [{ kind: 'device-error', code: undefined, message: 'x' }, 'failed', 'failed'],
    [{ kind: 'device-error', code: -32_601, message: 'x' }, 'unsupported', 'unsupported'],
    [{ kind: 'device-error', code: -32_602, message: 'x' }, 'invalid-arguments', 'invalid-arguments'],
    [{ kind: 'device-error', code: -32_603, message: 'x' }, 'failed', 'failed'],
  ])('%j is %s after a read and %s after a change', (fault, afterRead, afterChange) => {
    expect(kind(fault, 'reads')).toBe(afterRead)
    expect(kind(fault)).toBe(afterChange)
  })

  it('is busy, not device_asleep, when a call to a connected device expires', () => {
    const codeOf = (asleep: boolean) =>
      toDeviceErrorJson(mapDeviceFaultToCallFault({ kind: 'expired', afterMs: 1, asleep }, called))['code']
    expect([codeOf(true), codeOf(false)]).toEqual(['device_asleep', 'busy'])
  })

  it('keeps the device’s error message and code', () => {
    const fault = mapDeviceFaultToCallFault(
      { kind: 'device-error', code: -32_603, message: 'servo "tail" jammed' },
      called,
    )
    expect(toDeviceErrorJson(fault)).toEqual({
      code: 'device_error',
      message: 'servo "tail" jammed',
      retryable: false,
      details: { device: 'den', jsonrpc_code: -32_603 },
    })
  })
})
