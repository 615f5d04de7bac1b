import { describe, expect, it } from 'vitest'
import { resolveDataAndConfigOptions, createClientSnippet } from './client-snippet.ts'
import type { ClientSnippetInput } from './client-snippet.ts'

const FACTS: ClientSnippetInput = {
  url: 'http://127.0.0.1:7420',
  command: 'hearthbus',
  settings: [],
  profile: 'all',
  listen: { host: '127.0.0.1', anonymous: 'agent' },
}
const OPEN: ClientSnippetInput = { ...FACTS, listen: { host: '0.0.0.0', anonymous: 'agent' } }

describe('client snippet', () => {
  it('contains no token if programs on this machine need none', () => {
    expect(createClientSnippet('other', FACTS)).toMatchObject({
      what: 'http://127.0.0.1:7420/mcp\nhearthbus mcp --names underscore',
      hasToken: false,
    })
  })

  it('contains a token and explains the address if other machines may connect', () => {
    expect(createClientSnippet('claude-code', OPEN)).toEqual({
      where:
        'On another machine, write this machine’s address instead of 127.0.0.1; on this machine the token can be left out. In a terminal:',
      what: 'claude mcp add --transport http hearthbus "http://127.0.0.1:7420/mcp?names=underscore" --header "Authorization: Bearer hb_…"',
      hasToken: true,
    })
    // Started on this machine, it comes from this machine.
    expect(createClientSnippet('claude-desktop', OPEN).hasToken).toBe(false)
    const there = { ...OPEN, url: 'http://192.0.2.7:7420', listen: { ...OPEN.listen, host: '192.0.2.7' } }
    expect(createClientSnippet('claude-code', there).where).toBe('In a terminal:')
    expect(createClientSnippet('claude-desktop', there).what).toContain('HEARTHBUS_TOKEN')
  })

  it('sets no name style for a profile whose tool names have no dots', () => {
    expect(createClientSnippet('other', { ...FACTS, profile: 'home' }).what).toBe(
      'http://127.0.0.1:7420/mcp/home\nhearthbus mcp --profile home',
    )
  })

  it('contains the data and config options of the running command', () => {
    const settings = resolveDataAndConfigOptions(
      ['connect', 'other', '--data', 'house'],
      { HEARTHBUS_CONFIG: '/etc/h.yaml' },
      '/home/eve',
    )
    expect(createClientSnippet('other', { ...FACTS, settings }).what).toContain(
      '\nhearthbus --data /home/eve/house --config /etc/h.yaml mcp --names underscore',
    )
    expect(
      resolveDataAndConfigOptions(['--config=a', 'up', '--demo'], { HEARTHBUS_DATA: '', HEARTHBUS_CONFIG: 'b' }, '/'),
    ).toEqual(['--config', '/a'])
  })
})
