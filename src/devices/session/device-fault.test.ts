import { describe, expect, it } from 'vitest'
import type { DeviceFault } from './device-fault.ts'
import { formatDeviceFault, mayDeviceHaveActed } from './device-fault.ts'

const CASES: readonly (readonly [DeviceFault, string, boolean])[] = [
  [{ kind: 'unknown-device', device: 'x' }, 'No device x is enrolled here.', false],
  [
    { kind: 'asleep', device: 'x', wakesItself: false },
    'The device x is asleep. It connects only when somebody wakes it by voice or button.',
    false,
  ],
  [
    { kind: 'asleep', device: 'x', wakesItself: true },
    'The device x is offline. It connects by itself as soon as it has power and network.',
    false,
  ],
  [{ kind: 'unknown-tool', tool: 't', listed: true }, 'The device has no tool t.', false],
  [
    { kind: 'unknown-tool', tool: 't', listed: false },
    'The device has not listed any tools, so t was not sent.',
    false,
  ],
  [{ kind: 'invalid-arguments', problems: ['a', 'b'] }, 'Nothing was sent: a; b.', false],
  [
    { kind: 'queue-full', limit: 4 },
    'The device is busy: 4 calls are already waiting for it. Nothing was sent.',
    false,
  ],
  [
    { kind: 'queue-full', limit: 16, ofOne: true },
    'You have 16 calls waiting for devices already. Nothing was sent.',
    false,
  ],
  [
    { kind: 'expired', afterMs: 1_500, asleep: true },
    'The call waited 1.5 s for the device to wake and was given up. Nothing was sent.',
    false,
  ],
  [
    { kind: 'expired', afterMs: 1_500, asleep: false },
    'The device is busy: the call waited 1.5 s for its turn. Nothing was sent.',
    false,
  ],
  [
    { kind: 'timed-out', afterMs: 30_000 },
    'The device did not answer within 30 s. It may have acted all the same.',
    true,
  ],
  [
    { kind: 'disconnected', sent: true },
    'The device disconnected after the request was sent. It may have acted all the same.',
    true,
  ],
  [{ kind: 'cancelled', sent: false }, 'The call was cancelled before the request was sent.', false],
  [{ kind: 'device-error', code: undefined, message: 'no' }, 'The device answered with an error: no', false],
  [{ kind: 'bad-answer', problem: 'p' }, 'The device answered something that cannot be used: p.', true],
  [{ kind: 'unsupported', needs: 'n' }, 'The device cannot do this: it needs n.', false],
]

describe('device fault', () => {
  it.each(CASES)('%j is formatted as: %s', (fault, sentence, acted) => {
    expect(formatDeviceFault(fault)).toBe(sentence)
    expect(mayDeviceHaveActed(fault)).toBe(acted)
  })
})
