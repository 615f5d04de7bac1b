/** What a person at a terminal is told of devices. */
import { describe, expect, it } from 'vitest'
import { formatFailedDeviceCall } from './devices-text.ts'

describe('the message about an unknown device', () => {
  it('refers to a command of the CLI, not to a tool', () => {
    const error = { code: 'unknown_device', message: 'There is no device "nope". devices.list says which there are.' }
    const view = { outcome: 'error', traceId: 't', structured: { ok: false, error } } as const
    expect(formatFailedDeviceCall(view)).toMatchObject({
      text: 'There is no such device. hearthbus devices lists them.',
      exit: 1,
    })
  })
})
