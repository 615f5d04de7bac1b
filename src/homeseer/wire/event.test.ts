import { describe, expect, it } from 'vitest'
import { decodeEvents, encodeEvent } from './event.ts'

describe('event record', () => {
  it('is decoded with and without an id', () => {
    const record = {
      Group: 'Evening',
      Name: 'Dim Ground Floor',
      id: 31,
      voice_command: '',
      voice_command_enabled: false,
    }
    const events = decodeEvents({ Events: [record, { Group: 'Old', Name: 'Away' }] })
    expect(events).toMatchObject({
      ok: true,
      value: [
        { id: 31, group: 'Evening' },
        { id: undefined, name: 'Away' },
      ],
    })
    expect(events.ok && events.value[0] && encodeEvent(events.value[0])).toEqual(record)
    expect(decodeEvents({})).toMatchObject({ ok: false })
  })
})
