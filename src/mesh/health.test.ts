import { describe, expect, it } from 'vitest'
import { computeMeshHealth } from './health.ts'
import type { MeshHealthFacts } from './health.ts'

const members = new Map(['cellar', 'attic', 'shed'].map((name) => [name, { name }]))
const village = { name: 'village', members, revoked: new Map<string, string>() }
const NATS = { servers: ['nats://127.0.0.1:4222'], downSinceMs: undefined, isShut: false }

function health(facts: Partial<MeshHealthFacts>): ReturnType<typeof computeMeshHealth> {
  const well = {
    self: 'cellar',
    community: village,
    reached: new Set(['attic', 'shed']),
    nats: NATS,
    omitted: 0,
    refused: [],
  }
  return computeMeshHealth({ ...well, ...facts })
}

describe('the health of the mesh', () => {
  it('is ok when every member is reached', () => {
    expect(health({})).toEqual({
      status: 'ok',
      details: { community: 'village', members: 2, reached: 2, nats: 'up' },
    })
  })

  it('is degraded when this node offers more capabilities than other nodes accept', () => {
    const state = health({ omitted: 3_280 })
    expect(state).toMatchObject({ status: 'degraded', details: { reached: 2 } })
    expect(state.details['advice']).toMatch(
      /^This node offers more than others take of one: they hear nothing of 3280 /,
    )
    expect(state.details['away']).toBe(undefined)
  })

  it('names the offers of another node that are refused, with the reason', () => {
    const state = health({
      refused: [{ node: 'attic', count: 2, why: 'x.y is not taken: it refers to itself without end.' }],
    })
    expect(state).toMatchObject({ status: 'degraded', details: { reached: 2 } })
    expect(state.details['advice']).toBe(
      '2 of the offers of attic are not taken: x.y is not taken: it refers to itself without end. hearthbus topology lists more.',
    )
  })

  it('reports one unreachable node as a warning, and no reachable node as a failure', () => {
    expect(health({ reached: new Set(['attic']) })).toMatchObject({
      status: 'degraded',
      details: { advice: expect.stringMatching(/^1 of 2 other members are reached; not: shed\./), reached: 1 },
    })
    expect(health({ reached: new Set(['attic']) }).details['away']).toBe(undefined)
    expect(health({ reached: new Set() }).details).toMatchObject({ away: true, reached: 0 })
  })

  it('reports that NATS is reachable but its peer registry cannot be opened', () => {
    const shut = health({ nats: { ...NATS, isShut: true } })
    expect(shut).toMatchObject({ status: 'degraded', details: { away: true, nats: 'up', reached: 2 } })
    expect(shut.details['advice']).toBe(
      'NATS (nats://127.0.0.1:4222) is reached, but nodes do not find each other there: the registry cannot be opened. Does the server run with JetStream (nats-server -js), and may this node use it?',
    )
  })

  it('reports since when NATS is down, even while members are reached by another transport', () => {
    const down = { ...NATS, downSinceMs: Date.UTC(2026, 0, 2, 3, 4, 5) }
    expect(health({ nats: down })).toEqual({
      status: 'degraded',
      details: {
        advice:
          'NATS (nats://127.0.0.1:4222) has been out of reach since 2026-01-02T03:04:05.000Z. Is the server running, and does it let this node in?',
        community: 'village',
        members: 2,
        reached: 2,
        nats: 'down',
        away: true,
      },
    })
  })

  it('reports that the community has revoked this node', () => {
    const revoked = { ...village, revoked: new Map([['cellar', '2026-01-01T00:00:00.000Z']]) }
    expect(health({ community: revoked }).details).toMatchObject({
      away: true,
      advice: expect.stringMatching(/^village has revoked this node/),
    })
  })

  it('is degraded while this node belongs to no community', () => {
    expect(health({ community: undefined })).toMatchObject({
      status: 'degraded',
      details: { community: null, advice: expect.stringContaining('hearthbus mesh init') },
    })
  })

  it('is ok in a community with one member', () => {
    const alone = { ...village, members: new Map([['cellar', { name: 'cellar' }]]) }
    expect(health({ community: alone, reached: new Set(), nats: undefined })).toEqual({
      status: 'ok',
      details: { community: 'village', members: 0, reached: 0 },
    })
  })
})
