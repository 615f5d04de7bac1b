import { describe, expect, it } from 'vitest'
import { agent, offer, plainFamily } from '../../test/mcp-house.ts'
import type { Offer } from '../bus/capability.ts'
import { buildMcpCatalogue, createMcpCatalogueCache } from './catalogue.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { FacePrincipal } from './face-bus.ts'
import { toToolAnnotations } from './listed-tool.ts'

const everything = { include: ['*'], exclude: [] }
const offers = [
  offer({
    name: 'a.read',
    title: 'Read',
    requestSchema: { properties: { x: { type: 'string', 'x-mcp-header': 'X' } } },
  }),
  offer({ name: 'a.write', effect: 'writes' }),
  offer({ name: 'one', face: { kind: 'resource', uri: 'r://one', mimeType: 'text/plain' } }),
  offer({ name: 'some', face: { kind: 'resource', uri: 'r://{id}', mimeType: 'text/plain' } }),
  offer({
    name: 'p.greet',
    face: { kind: 'prompt', arguments: [{ name: 'who', description: 'Whom', required: true }] },
  }),
  offer({ name: 'inner', face: { kind: 'service' } }),
]

function catalogue(style: 'dots' | 'underscore' = 'dots'): McpCatalogue {
  return buildMcpCatalogue(offers, { principal: agent, profileName: 'all', profiles: [everything], style })
}

describe('catalogue', () => {
  it('lists a tool with its schemas and with hints derived from its effect', () => {
    const { tools } = catalogue().list('tools/list') as unknown as { tools: readonly object[] }
    expect(tools).toHaveLength(2)
    expect(tools[0]).toEqual({
      name: 'a.read',
      title: 'Read',
      description: 'What a.read does.',
      inputSchema: { type: 'object', properties: { x: { type: 'string', 'x-mcp-header': 'X' } } },
      outputSchema: { type: 'object', properties: { ok: { type: 'boolean' }, data: {} }, required: ['ok'] },
      annotations: { readOnlyHint: true, openWorldHint: false },
    })
  })

  it('lists the identical object for a tool until its offer, its name or its nodes change', () => {
    const toolsOf = (...wanted: readonly Offer[]) =>
      buildMcpCatalogue(wanted, { ...catalogue().view, nodesOffering: () => nodes }).list('tools/list')[
        'tools'
      ] as object[]
    let nodes = ['here']
    const [read, write] = [offer({ name: 'a.read' }), offer({ name: 'a.write', effect: 'writes' })]
    const before = toolsOf(read, write)
    const after = toolsOf(read, { ...write, description: 'Offline now.' })
    expect(after[0]).toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    nodes = ['here', 'attic']
    expect(toolsOf(read)[0]).toMatchObject({ inputSchema: { properties: { _node: { type: 'string' } } } })
  })

  it.each([
    ['reads', { readOnlyHint: true, openWorldHint: false }],
    ['records', { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }],
    ['writes', { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false }],
    ['sensitive', { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false }],
    ['admin', { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false }],
  ] as const)('derives the MCP hints of a tool from its effect %s', (effect, hints) => {
    expect(toToolAnnotations(effect, false)).toEqual(hints)
  })

  it('lists resources, templates and prompts, but no services', () => {
    const dots = catalogue()
    expect(dots.list('resources/list')).toMatchObject({
      resources: [{ uri: 'r://one', name: 'one', mimeType: 'text/plain' }],
    })
    expect(dots.list('resources/templates/list')).toMatchObject({ resourceTemplates: [{ uriTemplate: 'r://{id}' }] })
    expect(dots.list('prompts/list')).toMatchObject({
      prompts: [{ name: 'p.greet', arguments: [{ name: 'who', description: 'Whom', required: true }] }],
    })
    expect(JSON.stringify(dots.list('tools/list'))).not.toContain('inner')
  })

  it('leaves out a resource template that it cannot parse, and lists the rest', () => {
    const strange = offer({ name: 'x', face: { kind: 'resource', uri: 'x://{x*}', mimeType: 'text/plain' } })
    const view = { principal: agent, profileName: 'all', profiles: [everything], style: 'dots' } as const
    const built = buildMcpCatalogue([...offers, strange], view)
    expect(built.list('resources/templates/list')).toMatchObject({ resourceTemplates: [{ uriTemplate: 'r://{id}' }] })
    expect(built.list('tools/list')).toEqual(catalogue().list('tools/list'))
    expect(built.resource('x://1')).toBeUndefined()
  })

  it('finds tools and prompts under either spelling, and resources before templates', () => {
    const underscore = catalogue('underscore')
    expect(underscore.list('tools/list')).toMatchObject({ tools: [{ name: 'a_read' }, { name: 'a_write' }] })
    expect(underscore.canonicalTool('a_read')).toBe('a.read')
    expect(underscore.prompt('p_greet')?.name).toBe('p.greet')
    expect(underscore.prompt('p.greet')?.name).toBe('p.greet')
    expect(underscore.resource('r://one')).toMatchObject({ offer: { name: 'one' }, body: {} })
    expect(underscore.resource('r://two')).toMatchObject({ offer: { name: 'some' }, body: { id: 'two' } })
    expect(underscore.resource('x://two')).toBeUndefined()
  })

  it('knows which arguments of a tool are mirrored in headers', () => {
    expect(catalogue().tool('a.read')?.headers).toEqual([{ path: ['x'], name: 'X', type: 'string' }])
  })
})

describe('catalogue cache', () => {
  let now: readonly Offer[] = offers
  const families = ['sleeping']
  const catalogues = createMcpCatalogueCache({
    bus: { offers: () => now, nodesOffering: () => ['here'] },
    profiles: {},
    families,
  })
  const scope = { profile: undefined, style: 'dots' } as const

  it('builds one catalogue per role and scope until the offers change', () => {
    const first = catalogues.find(agent, scope)
    expect(catalogues.find({ ...agent, id: 'another', client: 'x' }, scope)).toBe(first)
    expect(catalogues.find({ ...agent, role: 'observer' }, scope)).not.toBe(first)
    expect(catalogues.find(agent, { ...scope, style: 'underscore' })).not.toBe(first)
    expect(catalogues.find(agent, { ...scope, node: 'attic' })).not.toBe(first)
    now = offers.slice(1)
    expect(catalogues.find(agent, scope)).not.toBe(first)
  })

  it('has a profile for each family, even without offers, and for no other name', () => {
    expect(catalogues.find(agent, { ...scope, profile: 'plain' })).toBeTypeOf('object')
    expect(catalogues.find(agent, { ...scope, profile: 'sleeping' })).toBeTypeOf('object')
    expect(catalogues.find(agent, { ...scope, profile: 'nobody' })).toBe('no-such-profile')
    expect(plainFamily.name).toBe('plain')
  })

  it('gives a narrowed token the union of its profiles, and refuses other profiles', () => {
    const narrowed: FacePrincipal = { ...agent, restrictions: { profiles: ['read', 'sleeping'] } }
    const found = catalogues.find(narrowed, scope) as McpCatalogue
    expect(found.list('tools/list')).toEqual({ tools: [] })
    expect(found.view.profileName).toBe('read+sleeping')
    expect(catalogues.find(narrowed, { ...scope, profile: 'all' })).toBe('not-for-this-token')
  })

  it('returns an empty catalogue for a profile that no longer exists', () => {
    now = []
    expect(catalogues.current(agent, { ...scope, profile: 'plain' }).list('tools/list')).toEqual({ tools: [] })
  })
})
