import { describe, expect, it } from 'vitest'
import { parseMcpEndpoint } from './catalogue.ts'

describe('MCP endpoint scope', () => {
  it.each([
    ['/mcp', { profile: undefined, style: 'dots' }],
    ['/mcp/', { profile: undefined, style: 'dots' }],
    ['/mcp?names=underscore', { profile: undefined, style: 'underscore' }],
    ['/mcp/read?names=dots&x=1', { profile: 'read', style: 'dots' }],
    ['/mcp/read?node=attic', { profile: 'read', style: 'dots', node: 'attic' }],
    ['/mcp?node=ed25519%3AAAAA-_', { profile: undefined, style: 'dots', node: 'ed25519:AAAA-_' }],
    ['/mcp?node=the+old+attic', { profile: undefined, style: 'dots', node: 'the old attic' }],
    ['/mcp/my-heating', { profile: 'my-heating', style: 'dots' }],
  ])('is parsed from %s', (url, scope) => {
    expect(parseMcpEndpoint(url)).toEqual({ ok: true, value: scope })
  })

  it.each([
    ['/mcp/a/b', 404],
    ['/mcp/../api', 404],
    ['/mcp/READ', 404],
    ['/mcpx', 404],
    ['/mcp?names=camel', 400],
    ['/mcp?node=', 400],
    ['/mcp?node=%0A', 400],
    [`/mcp?node=${'x'.repeat(129)}`, 400],
  ])('is refused for %s', (url, status) => {
    expect(parseMcpEndpoint(url)).toMatchObject({ ok: false, fault: { status } })
  })
})
