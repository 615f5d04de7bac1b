import { describe, expect, it } from 'vitest'
import { previewOf } from './preview.ts'

describe('preview of a change', () => {
  it('shows the status of a lock as text, beside the number', () => {
    const after = { path: 'control', value: 0, label: 'Unlock', movesHardware: true }
    expect(previewOf({ value: 255, status: 'Locked' }, after)).toEqual({
      changes: [
        { name: 'value', was: '255', will: '0' },
        { name: 'status', was: 'Locked', will: 'Unlock' },
      ],
      beside: [
        { name: 'path', value: 'control' },
        { name: 'moves hardware', value: 'yes' },
      ],
    })
  })

  it('marks a value that is known only before or only after the change', () => {
    expect(previewOf({ mode: 'auto', since: 7 }, { mode: 'off', until: 9 })).toEqual({
      changes: [{ name: 'mode', was: 'auto', will: 'off' }],
      beside: [
        { name: 'since now', value: '7' },
        { name: 'until', value: '9' },
      ],
    })
  })

  it('can consist of two plain values', () => {
    expect(previewOf(20.5, 21)).toEqual({ changes: [{ name: 'value', was: '20.5', will: '21' }], beside: [] })
  })
})
