import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import { decodeServerInfo, decodeToolPage } from './tool-list.ts'

const VOLUME: Json = {
  name: 'self.audio_speaker.set_volume',
  description: 'Set the volume.',
  inputSchema: {
    type: 'object',
    properties: { volume: { type: 'integer', minimum: 0, maximum: 100 } },
    required: ['volume'],
  },
}

describe('tool list', () => {
  it('reads a page and its cursor', () => {
    expect(decodeToolPage({ tools: [VOLUME], nextCursor: 'self.lamp.turn_on' })).toEqual({
      ok: true,
      value: { tools: [{ ...VOLUME, userOnly: false }], nextCursor: 'self.lamp.turn_on', skipped: [] },
    })
  })

  it('reads an empty cursor as the last page, as spec 3 says', () => {
    expect(decodeToolPage({ tools: [], nextCursor: '' })).toMatchObject({ value: { nextCursor: undefined } })
  })

  it('recognises a user-only tool by its audience', () => {
    const page = decodeToolPage({
      tools: [
        { name: 'self.reboot', annotations: { audience: ['user'] } },
        { name: 'self.both', annotations: { audience: ['user', 'assistant'] } },
      ],
    })
    expect(page).toMatchObject({ value: { tools: [{ userOnly: true }, { userOnly: false }] } })
  })

  it('skips unusable tools and reports them', () => {
    let deep: Json = {}
    for (let level = 0; level < 2_000; level++) deep = { inner: deep }
    const page = decodeToolPage({
      tools: [
        VOLUME,
        null,
        { description: 'nameless' },
        { name: 'n'.repeat(300) },
        { name: 'list', inputSchema: [] },
        { name: 'deep', inputSchema: deep },
        { name: 'large', inputSchema: { description: 'x'.repeat(20_000) } },
      ],
    })
    expect(page).toMatchObject({
      value: {
        tools: [{ name: 'self.audio_speaker.set_volume' }],
        skipped: [
          'a tool without a name',
          'a tool without a name',
          'a tool whose name has 300 characters',
          'list: its inputSchema is not an object',
          'deep: its inputSchema is nested too deeply',
          'large: its inputSchema is too large',
        ],
      },
    })
  })

  it('limits tools per page and the length of cursors and descriptions', () => {
    expect(decodeToolPage({ tools: Array.from({ length: 600 }, () => VOLUME) }).ok).toBe(false)
    expect(decodeToolPage({ tools: [], nextCursor: 'c'.repeat(600) }).ok).toBe(false)
    expect(decodeToolPage({ tools: [{ name: 'd', description: 'x'.repeat(9_000) }] })).toMatchObject({
      value: { tools: [{ description: 'x'.repeat(8_192) }] },
    })
  })

  it('reads board and firmware from serverInfo, or empty strings without it', () => {
    expect(decodeServerInfo({ serverInfo: { name: 'bread-compact-wifi', version: '2.4.2' } })).toEqual({
      name: 'bread-compact-wifi',
      version: '2.4.2',
    })
    expect(decodeServerInfo(null)).toEqual({ name: '', version: '' })
  })
})
