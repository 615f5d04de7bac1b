/**
 * What a lying member can do with gossip, over the wire and with its own key: the shed's key signs whatever this test
 * wants. Votes and checkpoints that contradict each other are findings on every node that sees them, whoever saw them
 * first, and a vote of somebody who said two things does not count.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  castVote,
  entriesOfKind,
  finality,
  gossipAs,
  identityOf,
  makePerson,
  openDoor,
  openings,
  ownerToken,
  proposeDoor,
  voteResult,
} from '../consensus-house.ts'
import type { ProposedRound } from '../consensus-house.ts'
import { call, cli, closeAll, formCommunity, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

let nodes: MeshNode[] = []
const tokens = new Map<string, string>()

beforeAll(async () => {
  nodes = [...(await formCommunity(['cellar', 'attic', 'shed']))]
  for (const name of ['anna', 'ben']) tokens.set(name, makePerson(at(0), name))
})
afterAll(() => closeAll(nodes))

function at(index: number): MeshNode {
  const node = nodes[index]
  if (node === undefined) throw new Error('three nodes were to be made')
  return node
}

/** DSSE over RFC 8785, as docs/protocols/consensus.md says and with nothing of ours. */
function voteOf(
  signer: MeshNode | KeyObject,
  change: Readonly<Record<string, string | number>>,
): { vote: string; signature: string } {
  const key = 'home' in signer ? createPrivateKey(readFileSync(join(signer.home.data, 'keys', 'node.key'))) : signer
  const fields: Record<string, string | number> = { ...change }
  const body = `{${Object.keys(fields)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(fields[name])}`)
    .join(',')}}`
  const type = 'application/vnd.hearthbus.vote+json;v=1'
  const message = `DSSEv1 ${type.length} ${type} ${Buffer.byteLength(body)} ${body}`
  return { vote: body, signature: sign(null, Buffer.from(message), key).toString('hex') }
}

function keyOf(node: MeshNode): string {
  return Buffer.from(node.nodeId.slice('ed25519:'.length), 'base64url').toString('hex')
}

async function frameOf(round: ProposedRound, decision: string, seq: number): Promise<Record<string, string | number>> {
  const asked = entriesOfKind(at(0), 'approval.requested').find((entry) => entry['approval'] === round.round_id)
  const { epoch } = (asked?.['quorum'] ?? {}) as { epoch: number }
  return {
    approval: round.round_id,
    call: round.digest,
    decision,
    epoch,
    expires: Math.floor(Date.parse(asked?.['expires_at'] as string) / 1000),
    house: at(0).nodeId,
    issued: Math.floor(Date.now() / 1000),
    prev: '0'.repeat(64),
    seq,
    voter: `key_${keyOf(at(2)).slice(0, 16)}`,
  }
}

function voteEvent(round: ProposedRound, signed: object): object {
  const shed = at(2)
  return {
    kind: 'vote',
    house: at(0).nodeId,
    round: round.round_id,
    voter: `node:${shed.nodeId}`,
    key: keyOf(shed),
    ...signed,
  }
}

describe('a member that equivocates', () => {
  it('by two votes is detected by the node that received the other vote, and its vote does not count', async () => {
    const shed = identityOf(at(2))
    const round = await proposeDoor(at(0), 1, { voters: ['anna', 'node:shed'], need: 2 })
    const yes = voteOf(at(2), await frameOf(round, 'allow', 1))
    const no = voteOf(at(2), await frameOf(round, 'deny', 1))
    // Yes to the house, no to the attic, which is no voter and only hears of it.
    await gossipAs(shed, at(0), [voteEvent(round, yes)])
    expect((await finality(at(0), round)).votes).toHaveLength(1)
    await gossipAs(shed, at(1), [voteEvent(round, no)])
    await until('the attic has both', async () => {
      // It hears the same from several at once, and finds it once.
      await Promise.all([1, 2, 3, 4].map(() => call(at(1), 'consensus_gossip', {})))
      return entriesOfKind(at(1), 'consensus.conflict').length > 0
    })
    const [found, ...again] = entriesOfKind(at(1), 'consensus.conflict')
    expect(again).toEqual([])
    expect(found).toMatchObject({ what: 'vote', house: at(0).nodeId, round: round.round_id })
    expect(((found?.['votes'] ?? []) as { vote: string }[]).map(({ vote }) => vote).toSorted()).toEqual(
      [yes.vote, no.vote].toSorted(),
    )
    // And the house hears of it from the attic.
    await until('the house has both', async () => {
      await call(at(0), 'consensus_gossip', {})
      return ((await finality(at(0), round)).evidence.conflicts ?? []).length === 1
    })
    expect(entriesOfKind(at(0), 'consensus.equivocated')).toHaveLength(1)
    await castVote(at(0), round, tokens.get('anna'))
    expect([await openDoor(at(0), 1), openings(at(0), 1)]).toEqual(['denied', 0])
  })

  it('is refused a vote with another round, house, epoch, call or expiry, key, or without a signature', async () => {
    const shed = identityOf(at(2))
    const round = await proposeDoor(at(0), 2, { voters: ['anna', 'node:shed'], need: 2 })
    const other = await proposeDoor(at(0), 3, { voters: ['anna', 'node:shed'], need: 2 })
    const good = await frameOf(round, 'allow', 2)
    const changed: readonly Readonly<Record<string, string | number>>[] = [
      { approval: other.round_id },
      { call: other.digest },
      { epoch: Number(good['epoch']) + 1 },
      { epoch: Number(good['epoch']) - 1 },
      { house: at(1).nodeId },
      { expires: Number(good['expires']) + 60 },
      { issued: Number(good['issued']) - 86_400 },
      { issued: Number(good['issued']) + 86_400 },
      { voter: `key_${keyOf(at(1)).slice(0, 16)}` },
      { seq: 0 },
      { extra: 'field' },
    ]
    const events: object[] = changed.map((change) => voteEvent(round, voteOf(at(2), { ...good, ...change })))
    const signed = voteOf(at(2), good)
    events.push(
      // Signed by the attic for the shed, and the other way round.
      voteEvent(round, voteOf(at(1), good)),
      { ...voteEvent(round, signed), voter: `node:${at(1).nodeId}` },
      { ...voteEvent(round, signed), voter: 'anna' },
      voteEvent(round, { ...signed, signature: '00'.repeat(64) }),
      voteEvent(round, { ...signed, signature: signed.signature.toUpperCase() }),
      // The same bytes in another spelling of JSON.
      voteEvent(round, { ...signed, vote: signed.vote.replace('{', '{ ') }),
    )
    for (const event of events) await gossipAs(shed, at(0), [event])
    expect((await finality(at(0), round)).votes).toEqual([])
    expect((await finality(at(0), other)).votes).toEqual([])
    // The honest one is taken, so it was not for another reason that all of these were not.
    await gossipAs(shed, at(0), [voteEvent(round, signed)])
    expect((await finality(at(0), round)).votes).toHaveLength(1)
    // Its number is used up: in another round the same number is a second vote of it.
    const again = { ...(await frameOf(other, 'allow', 2)) }
    await gossipAs(shed, at(0), [voteEvent(other, voteOf(at(2), again))])
    expect((await finality(at(0), other)).votes).toEqual([])
    expect([await openDoor(at(0), 2), await openDoor(at(0), 3)]).toEqual(['denied', 'denied'])
  })

  it('by two checkpoints of one size is detected on every node', async () => {
    const shed = identityOf(at(2))
    const vkey = String(cli(at(2).home, 'ledger', 'key')['vkey'])
    const [origin = ''] = vkey.split('+')
    const key = createPrivateKey(readFileSync(join(at(2).home.data, 'keys', 'node.key')))
    const note = (root: number): string => {
      const text = `${origin}\n1000000\n${Buffer.alloc(32, root).toString('base64')}\n`
      const id = Buffer.from(vkey.split('+')[1] ?? '', 'hex')
      return `${text}\n— ${origin} ${Buffer.concat([id, sign(null, Buffer.from(text), key)]).toString('base64')}\n`
    }
    const event = (root: number): object => ({ kind: 'checkpoint', node: at(2).nodeId, note: note(root) })
    await gossipAs(shed, at(0), [event(1)])
    await gossipAs(shed, at(1), [event(2)])
    for (const node of [at(0), at(1)])
      await until(`${node.name} has found it`, async () => {
        await call(node, 'consensus_gossip', {})
        return entriesOfKind(node, 'consensus.conflict').some(
          (entry) => entry['what'] === 'checkpoint' && entry['node'] === at(2).nodeId,
        )
      })
    const health = await call(at(1), 'server_health', {})
    expect(JSON.stringify(health.structured.data?.['attention'])).toMatch(/contradict/)
    // A forged one is nobody's.
    const forged = note(3).replace(/— (\S+) (\S{8})/, '— $1 AAAAAAAA')
    const before = entriesOfKind(at(0), 'consensus.conflict').length
    await gossipAs(shed, at(0), [{ kind: 'checkpoint', node: at(2).nodeId, note: forged }])
    expect(entriesOfKind(at(0), 'consensus.conflict')).toHaveLength(before)
  })

  it('with self-made keys accuses nobody, and fills no log with its own contradictions', async () => {
    const shed = identityOf(at(2))
    const before = entriesOfKind(at(1), 'consensus.conflict').length
    const { privateKey: stranger } = generateKeyPairSync('ed25519')
    const raw = createPublicKey(stranger).export({ format: 'jwk' }).x ?? ''
    const said = (round: string, decision: string, key: KeyObject): { vote: string; signature: string } => {
      const hex = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex')
      const frame = { approval: round, call: 'ab'.repeat(32), decision, epoch: 1, expires: 4e9, house: at(0).nodeId }
      return voteOf(key, { ...frame, issued: 1, prev: '0'.repeat(64), seq: 1, voter: `key_${hex.slice(0, 16)}` })
    }
    const both = (round: string, voter: string, key: KeyObject): object[] =>
      ['allow', 'deny'].map((decision) => ({
        kind: 'vote',
        house: at(0).nodeId,
        round,
        voter,
        key: Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex'),
        ...said(round, decision, key),
      }))
    // A person of the cellar, a node that is none, and a house that is none.
    await gossipAs(shed, at(1), [
      ...both('made-up-1', 'anna', stranger),
      ...both('made-up-2', `node:ed25519:${raw}`, stranger),
      ...both('made-up-3', 'anna', stranger).map((event) => ({ ...event, house: `ed25519:${raw}` })),
    ])
    expect(entriesOfKind(at(1), 'consensus.conflict')).toHaveLength(before)
    // Contradictions of its own are evidence, of which a few are enough.
    const own = createPrivateKey(readFileSync(join(at(2).home.data, 'keys', 'node.key')))
    for (let index = 0; index < 48; index += 12) {
      const rounds = Array.from({ length: 12 }, (_, each) => `mine-${index + each}`)
      const events = rounds.flatMap((round) => both(round, `node:${at(2).nodeId}`, own))
      await gossipAs(shed, at(1), events)
    }
    expect(entriesOfKind(at(1), 'consensus.conflict').length).toBeLessThanOrEqual(32)
    expect(entriesOfKind(at(1), 'consensus.conflict').length).toBeGreaterThan(before)
  })

  it('cannot replace another node’s round by using its id: people see and answer both', async () => {
    const attic = at(1)
    const round = await proposeDoor(at(0), 70, { voters: ['anna', 'node:attic'], need: 2 })
    const waiting = (): readonly { id: string; askedBy?: string; binding: { tool: string } }[] =>
      Object.values(cli(attic.home, 'approvals')) as never
    await until('the attic’s people are asked', async () => {
      await call(attic, 'consensus_gossip', {})
      return waiting().some(({ id }) => id === round.round_id)
    })
    expect(waiting().find(({ id }) => id === round.round_id)).toMatchObject({
      askedBy: 'cellar',
      binding: { tool: 'test.door.cellar' },
    })
    const expires_at = new Date(Date.now() + 600_000).toISOString()
    const { round_id, digest } = round
    const copied = {
      kind: 'round',
      round: round_id,
      digest,
      need: 1,
      epoch: 1,
      expires_at,
      shown: { title: 'Nothing' },
    }
    await gossipAs(identityOf(at(2)), attic, [{ ...copied, voters: [`node:${attic.nodeId}`] }])
    const both = [at(0), at(2)].map(({ nodeId }) => `${round_id}@${nodeId}`)
    expect(waiting().flatMap(({ id }) => (id.startsWith(round_id) ? [id] : []))).toEqual(both.toReversed())
    const unclear = await castVote(attic, round, ownerToken(attic))
    expect(unclear.structured).toMatchObject({ ok: false, error: { code: 'INVALID_PARAMS' } })
    cli(attic.home, 'approvals', 'approve', both[0] ?? '')
    await castVote(at(0), round, tokens.get('anna'))
    await until('it is a quorum', async () => !['PENDING', 'SOFT'].includes((await finality(at(0), round)).level))
    expect([await openDoor(at(0), 70), openings(at(0), 70)]).toEqual(['ok', 1])
    expect(waiting().some(({ id }) => id === both[0])).toBe(false)
  })

  it('receives a new round also after more old rounds than one exchange carries', async () => {
    // 256 events are one exchange; these are more.
    for (let x = 100; x < 230; x++) {
      const round = await proposeDoor(at(0), x, { voters: ['anna', 'ben'], need: 2 })
      for (const name of ['anna', 'ben']) await castVote(at(0), round, tokens.get(name), 'no')
    }
    const round = await proposeDoor(at(0), 99, { voters: ['anna', 'node:attic'], need: 2 })
    const heard = (): readonly unknown[] => entriesOfKind(at(1), 'consensus.heard').map((entry) => entry['round'])
    await until('the attic has heard of it', async () => {
      await call(at(0), 'consensus_gossip', {})
      return heard().includes(round.round_id)
    })
    expect(heard()).toContain(round.round_id)
  })
})

describe('a voter whose credential was replaced', () => {
  it('is refused with INVALID_KEY for a round begun before, and votes in the next', async () => {
    const { home } = at(0)
    const round = await proposeDoor(at(0), 50, { voters: ['anna', 'ben', 'node:attic'], need: 2 })
    cli(home, 'token', 'revoke', 'ben')
    tokens.set('ben', makePerson(at(0), 'ben'))
    await castVote(at(0), round, tokens.get('anna'))
    const answer = await castVote(at(0), round, tokens.get('ben'))
    expect(answer.structured).toMatchObject({ ok: false, error: { code: 'HANDLER_ERROR' } })
    expect(voteResult(answer)).toBe('INVALID_KEY')
    expect([await openDoor(at(0), 50), openings(at(0), 50)]).toEqual(['denied', 0])
    const next = await proposeDoor(at(0), 51, { voters: ['anna', 'ben'], need: 2 })
    for (const name of ['anna', 'ben']) await castVote(at(0), next, tokens.get(name))
    expect([await openDoor(at(0), 51), openings(at(0), 51)]).toEqual(['ok', 1])
  })
})
