/**
 * A quorum is for one call, one caller and one set of credentials. What is put in the place of any of them, with all
 * signatures right, does not act.
 */
import { describe, expect, it } from 'vitest'
import {
  actuator,
  ADMIN,
  AGENT,
  around,
  assessedOffer,
  callOf,
  HOUSE_SEED,
  MEMBER_SEED,
  nodeIdOf,
  openHouse,
  TEST_VOTING,
} from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import type { Call, Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import { fromHex, toBase64url } from '../core/bytes.ts'
import type { JsonObject } from '../core/json.ts'
import type { OwnerRule } from './policy.ts'
import type { QuorumRoundRecord } from './quorum-round-terms.ts'
import { FIRST_VOTE_PREVIOUS_HASH, signVote, computeVoterKeyId, deriveVoterPublicKey, isVoterKey } from './vote.ts'
import type { SignedVote, VoteBody } from './vote.ts'

const offer = { ...assessedOffer('sensitive', () => ({ target: 'lock:1' })), name: 'test.lock' }
const MEMBER = `node:${nodeIdOf(MEMBER_SEED)}`
const PEOPLE = ['anna', 'ben', 'cara']
const rule: OwnerRule = { tool: 'test.lock', says: 'quorum', voters: PEOPLE, need: 2 }
/** With everything in it that can be written in more than one way. */
const VOTED = { to: 'open', angle: 90, name: 'Café', parts: [1, 2], how: { slow: true, why: 'party' } }

const person = (id: string, role: 'approver' | 'admin' = 'approver'): Caller => ({ kind: 'principal', id, role })

async function ask(at: GuardHouse, body: JsonObject = VOTED, caller: Caller = AGENT): Promise<QuorumRoundRecord> {
  const outcome = await around(at.guard, callOf(offer, body, { caller }), offer, actuator().proceed)
  const id = outcome.ok ? undefined : outcome.fault.details?.['approval_id']
  const round = at.guard.quorums.get(typeof id === 'string' ? id : '')
  if (round === undefined) throw new Error(`no round was opened: ${JSON.stringify(outcome)}`)
  return round
}

async function say(at: GuardHouse, { id, digest }: QuorumRoundRecord, by: Caller): Promise<string> {
  const cast = await at.guard.quorums.vote(id, { by, decision: 'allow', reason: '', digest })
  return cast.ok ? 'signed' : (cast.fault.code ?? cast.fault.kind)
}

/** How often the lock moved when the call was made. */
async function moves(at: GuardHouse, body: JsonObject = VOTED, more: Partial<Call> = {}, made: Offer = offer) {
  const lock = actuator()
  await around(at.guard, callOf(made, body, more), made, lock.proceed)
  return lock.calls.length
}

const renamed = (name: string): Offer => ({ ...offer, name })

const OTHER_CALLS: Readonly<Record<string, (at: GuardHouse) => Promise<number>>> = {
  'another value': (at) => moves(at, { ...VOTED, to: 'unlatch' }),
  'a value in capitals': (at) => moves(at, { ...VOTED, to: 'OPEN' }),
  'a value with a blank': (at) => moves(at, { ...VOTED, to: 'open ' }),
  'a value with a character that nobody sees': (at) => moves(at, { ...VOTED, to: 'open\u200b' }),
  'a value in letters that look alike': (at) => moves(at, { ...VOTED, to: 'оpen' }),
  'a name in another Unicode form': (at) => moves(at, { ...VOTED, name: 'Cafe\u0301' }),
  'a number as text': (at) => moves(at, { ...VOTED, angle: '90' }),
  'a number that is nearly the same': (at) => moves(at, { ...VOTED, angle: 90.00000000000001 }),
  'a negative number': (at) => moves(at, { ...VOTED, angle: -90 }),
  'a number in a list': (at) => moves(at, { ...VOTED, angle: [90] }),
  'a truth as text': (at) => moves(at, { ...VOTED, how: { ...VOTED.how, slow: 'true' } }),
  'a truth as a number': (at) => moves(at, { ...VOTED, how: { ...VOTED.how, slow: 1 } }),
  'another value inside': (at) => moves(at, { ...VOTED, how: { ...VOTED.how, slow: false } }),
  'an argument more': (at) => moves(at, { ...VOTED, silent: true }),
  'a default that is written out': (at) => moves(at, { ...VOTED, again: false }),
  'an empty argument more': (at) => moves(at, { ...VOTED, silent: '' }),
  'an argument more inside': (at) => moves(at, { ...VOTED, how: { ...VOTED.how, also: 'window' } }),
  'an argument called __proto__': (at) =>
    moves(at, JSON.parse(JSON.stringify(VOTED).replace('{', '{"__proto__":{"to":"unlatch"},')) as JsonObject),
  'an argument less': (at) => moves(at, { to: 'open', angle: 90, name: 'Café', parts: [1, 2] }),
  'a list in another order': (at) => moves(at, { ...VOTED, parts: [2, 1] }),
  'a list with one more': (at) => moves(at, { ...VOTED, parts: [1, 2, 2] }),
  'a list as an object': (at) => moves(at, { ...VOTED, parts: { 0: 1, 1: 2 } }),
  'text with half a character': (at) => moves(at, { ...VOTED, name: '\ud800' }),
  'no arguments': (at) => moves(at, {}),
  'another agent': (at) => moves(at, VOTED, { caller: { kind: 'principal', id: 'gemini', role: 'agent' } }),
  'an agent with a similar name': (at) =>
    moves(at, VOTED, { caller: { kind: 'principal', id: 'Claude', role: 'agent' } }),
  'a voter': (at) => moves(at, VOTED, { caller: person('anna') }),
  'the owner': (at) => moves(at, VOTED, { caller: ADMIN }),
  'a service of the same name': (at) => moves(at, VOTED, { caller: { kind: 'service', id: 'claude' } }),
  'another node for that agent': (at) =>
    moves(at, VOTED, { caller: { kind: 'peer', id: nodeIdOf(MEMBER_SEED), level: 'anchor', actor: 'claude' } }),
  'a tool of a similar name': (at) => moves(at, VOTED, {}, renamed('test.lock2')),
  'a definition that changed since': (at) => moves(at, VOTED, {}, { ...offer, description: 'Unlocks all doors.' }),
  'a schema that changed since': (at) =>
    moves(at, VOTED, {}, { ...offer, requestSchema: { type: 'object', properties: { to: {} } } }),
  'another version': (at) => moves(at, VOTED, {}, { ...offer, version: [1, 1] }),
  'another device': (at) => {
    const other = { ...assessedOffer('sensitive', () => ({ target: 'lock:2' })), name: 'test.lock' }
    return moves(at, VOTED, {}, other)
  },
  'another promise': (at) => {
    const preview = { after: 'unlocked for a week' }
    const other = { ...assessedOffer('sensitive', () => ({ target: 'lock:1', preview })), name: 'test.lock' }
    return moves(at, VOTED, {}, other)
  },
}

describe('quorum for one call', () => {
  it('lets no other call through, however similar', async () => {
    using at = openHouse({ ownerRules: [rule, { tool: 'test.lock2', says: 'ask' }] }, undefined, PEOPLE)
    const round = await ask(at)
    expect([await say(at, round, person('anna')), await say(at, round, person('ben'))]).toEqual(['signed', 'signed'])
    expect(at.guard.quorums.get(round.id)?.level).toBe('QUORUM')
    const acted: string[] = []
    for (const [name, attempt] of Object.entries(OTHER_CALLS)) if ((await attempt(at)) > 0) acted.push(name)
    expect(acted).toEqual([])
    expect(at.guard.approvals.get(round.id)?.state).toBe('approved')
    // RFC 8785: neither the order of names nor the spelling of a number is part of a value.
    const same = JSON.parse(
      '{"how":{"why":"party","slow":true},"parts":[1.0,2e0],"name":"Caf\\u00e9","angle":9.0e1,"to":"open"}',
    ) as JsonObject
    expect([await moves(at, same), await moves(at, same), await moves(at)]).toEqual([1, 0, 0])
  })

  it('lets one of twenty simultaneous calls act', async () => {
    using at = openHouse({ ownerRules: [rule] }, undefined, PEOPLE)
    const round = await ask(at)
    for (const id of ['anna', 'ben', 'cara']) await say(at, round, person(id))
    const made = await Promise.all(Array.from({ length: 20 }, () => moves(at)))
    expect(made.filter((each) => each > 0)).toHaveLength(1)
    expect(at.events('approval.approved')).toHaveLength(1)
    expect(at.events('approval.used')).toHaveLength(1)
  })

  it('does not hold under other rules', async () => {
    using at = openHouse({ ownerRules: [rule] }, undefined, PEOPLE)
    const round = await ask(at)
    for (const id of ['anna', 'ben']) await say(at, round, person(id))
    for (const other of [
      { ...rule, need: 3 },
      { ...rule, voters: ['anna', 'ben'] },
      { ...rule, veto: true },
      { ...rule, voters: ['ben', 'cara'] },
    ])
      expect([other, await moves(at.afterPowerCut({ ownerRules: [other] }))]).toEqual([other, 0])
    expect(await moves(at.afterPowerCut())).toBe(1)
  })
})

describe('vote of a person', () => {
  it('ends with its credential, and a later credential of the same name does not restore it', async () => {
    for (const next of [{ role: 'approver' }, { role: 'admin' }] as const) {
      using at = openHouse({ ownerRules: [rule] }, undefined, PEOPLE)
      const round = await ask(at)
      await say(at, round, person('anna'))
      await at.guard.tokens.revoke(ADMIN, 'anna')
      await at.guard.tokens.create(ADMIN, { name: 'anna', ...next })
      expect(await say(at, round, person('anna', next.role))).toBe('INVALID_KEY')
      expect(await say(at, round, person('ben'))).toBe('signed')
      expect([await moves(at), await moves(at.afterPowerCut())]).toEqual([0, 0])
      expect(await say(at, round, person('cara'))).toBe('signed')
      expect(await moves(at)).toBe(1)
    }
  })

  it('is not requested from a person whose credential does not cover the device', async () => {
    using at = openHouse({ ownerRules: [{ ...rule, voters: ['anna', 'ben', 'nora'] }] }, undefined, PEOPLE)
    await at.guard.tokens.create(ADMIN, { name: 'nora', role: 'approver', restrictions: { devices: ['lamp:1'] } })
    const round = await ask(at)
    expect(round.voters.map(({ voter }) => voter)).toEqual(['anna', 'ben'])
    const own = await at.guard.quorums.propose(callOf(offer, { x: 1 }), offer, { voters: ['anna', 'nora'], need: 2 })
    expect(own.ok ? '' : own.fault.message).toBe(
      'A rule of the owner says who votes about this, and how many it takes.',
    )
    using few = openHouse({ ownerRules: [{ ...rule, voters: ['anna', 'nora'] }] }, undefined, PEOPLE)
    await few.guard.tokens.create(ADMIN, { name: 'nora', role: 'approver', restrictions: { devices: ['lamp:1'] } })
    const refused = await around(few.guard, callOf(offer, VOTED), offer, actuator().proceed)
    expect(refused.ok ? '' : refused.fault.message).toBe(
      'It takes 2 voters, and 1 can be asked. nora cannot vote here: This credential does not cover the device in question.',
    )
  })

  it('does not count if a person has the name of a node, or a node the name of a person', async () => {
    using at = openHouse({ ownerRules: [{ ...rule, voters: ['anna', MEMBER], need: 2 }] }, undefined, PEOPLE)
    const round = await ask(at)
    await say(at, round, person('anna'))
    const answers = [
      await say(at, round, person(MEMBER, 'admin')),
      await say(at, round, person(MEMBER.slice('node:'.length), 'admin')),
      await say(at, round, { kind: 'peer', id: 'anna', level: 'anchor' }),
      await say(at, round, { kind: 'peer', id: nodeIdOf(MEMBER_SEED), level: 'anchor' }),
      await say(at, round, { kind: 'service', id: MEMBER }),
    ]
    expect(answers).toEqual(answers.map(() => 'NOT_A_VOTER'))
    expect(await moves(at)).toBe(0)
  })

  it('cannot come before its round, nor count in the next round about the same call', async () => {
    using at = openHouse({ ownerRules: [rule] }, undefined, PEOPLE)
    const early = await at.guard.quorums.take('01KDVDNA00SV8BENN93MVM2GAR', {
      voter: 'ben',
      vote: { body: '{}', signature: '00'.repeat(64) },
    })
    expect(early.ok ? '' : early.fault.code).toBe('ROUND_NOT_FOUND')
    const first = await ask(at)
    const cast = await at.guard.quorums.vote(first.id, {
      by: person('ben'),
      decision: 'allow',
      reason: '',
      digest: first.digest,
    })
    at.clock.advance(600_001)
    const second = await ask(at)
    expect(second.id).not.toBe(first.id)
    expect(second.digest).toBe(first.digest)
    const replayed = cast.ok ? await at.guard.quorums.take(second.id, { voter: 'ben', vote: cast.value }) : cast
    expect(replayed.ok).toBe(false)
    await say(at, second, person('anna'))
    expect(await moves(at)).toBe(0)
    at.clock.advance(-600_001)
    expect(await say(at, first, person('cara'))).toBe('ROUND_CLOSED')
    expect(await moves(at)).toBe(0)
  })

  it('for a closed round is refused, even if it contradicts an earlier vote', async () => {
    using at = openHouse({ ownerRules: [rule] }, undefined, PEOPLE)
    const round = await ask(at)
    for (const id of ['anna', 'ben']) await say(at, round, person(id))
    expect(await moves(at)).toBe(1)
    const no = await at.guard.quorums.vote(round.id, {
      by: person('anna'),
      decision: 'deny',
      reason: '',
      digest: round.digest,
    })
    expect(no.ok ? '' : no.fault.code).toBe('ROUND_CLOSED')
    expect(at.events('consensus.equivocated')).toEqual([])
  })
})

describe('vote of a node', () => {
  const nodeRule: OwnerRule = { ...rule, voters: ['anna', MEMBER], need: 2 }
  const seed = fromHex(MEMBER_SEED)

  function nodeVote(at: GuardHouse, round: QuorumRoundRecord, seq: number, more: Partial<VoteBody> = {}): SignedVote {
    const { id: approval, digest: call, house, epoch, expiresAtMs } = round
    return signVote(
      {
        approval,
        call,
        decision: 'allow',
        epoch,
        expires: Math.floor(expiresAtMs / 1_000),
        house,
        issued: Math.floor(at.clock.now() / 1_000),
        prev: FIRST_VOTE_PREVIOUS_HASH,
        seq,
        voter: computeVoterKeyId(deriveVoterPublicKey(seed)),
        ...more,
      },
      seed,
    )
  }

  it('counts in any order of arrival, and each number once', async () => {
    using at = openHouse({ ownerRules: [nodeRule] }, undefined, PEOPLE)
    const rounds = [await ask(at, { x: 1 }), await ask(at, { x: 2 }), await ask(at, { x: 3 })] as const
    const taken: boolean[] = []
    // The newest first, then an older one, then two numbers that were used, then one that was not.
    for (const [index, seq] of [
      [1, 7],
      [0, 5],
      [2, 5],
      [2, 7],
      [2, 6],
    ] as const) {
      const vote = nodeVote(at, rounds[index], seq)
      taken.push((await at.guard.quorums.take(rounds[index].id, { voter: MEMBER, vote })).ok)
    }
    expect(taken).toEqual([true, true, false, false, true])
    for (const round of rounds) await say(at, round, person('anna'))
    expect([await moves(at, { x: 1 }), await moves(at, { x: 2 }), await moves(at, { x: 3 })]).toEqual([1, 1, 1])
  })

  it('is refused with a forged signature in any encoding of point and scalar', async () => {
    using at = openHouse({ ownerRules: [nodeRule] }, undefined, PEOPLE)
    const round = await ask(at)
    await say(at, round, person('anna'))
    const { body, signature } = nodeVote(at, round, 1)
    const [point, scalar] = [signature.slice(0, 64), signature.slice(64)]
    const forged = [
      ...UNUSABLE_POINTS.map((each) => each + scalar),
      ...UNUSABLE_POINTS.map((each) => each + '00'.repeat(32)),
      point + addOrder(scalar, 1n),
      point + addOrder(scalar, 8n),
      point + '00'.repeat(32),
      point + ORDER_HEX,
      point + 'ff'.repeat(32),
      scalar + point,
      signature.slice(0, -2),
      `${signature}00`,
      signature.toUpperCase(),
      ` ${signature.slice(1)}`,
      Buffer.from(signature, 'hex').toString('base64'),
      '',
    ]
    for (const each of forged) {
      const taken = await at.guard.quorums.take(round.id, { voter: MEMBER, vote: { body, signature: each } })
      expect([each, taken.ok]).toEqual([each, false])
    }
    expect(await moves(at)).toBe(0)
    expect((await at.guard.quorums.take(round.id, { voter: MEMBER, vote: { body, signature } })).ok).toBe(true)
    expect(await moves(at)).toBe(1)
  })

  it('is impossible for a node id with a point of small order or a non-canonical encoding', () => {
    for (const each of UNUSABLE_POINTS) expect([each, isVoterKey(each)]).toEqual([each, false])
    const odd = `node:ed25519:${toBase64url(fromHex(UNUSABLE_POINTS[0] ?? ''))}`
    const voting = { ...TEST_VOTING, member: (which: string) => which }
    using at = openHouse({ ownerRules: [{ ...nodeRule, voters: ['anna', odd] }] }, undefined, PEOPLE, voting)
    return expect(ask(at)).rejects.toThrow('no round was opened')
  })

  it('is not requested from the node that makes the call, even if the rule uses its name', async () => {
    const voting = {
      ...TEST_VOTING,
      member: (which: string) => (which === 'attic' ? nodeIdOf(MEMBER_SEED) : TEST_VOTING.member(which)),
    }
    const named: OwnerRule = { ...rule, voters: ['anna', 'ben', 'node:attic'], need: 2 }
    using at = openHouse({ ownerRules: [named] }, undefined, PEOPLE, voting)
    const peer: Caller = { kind: 'peer', id: nodeIdOf(MEMBER_SEED), level: 'anchor' }
    const round = await ask(at, VOTED, peer)
    expect(round.voters.map(({ voter }) => voter)).toEqual(['anna', 'ben'])
    expect((await ask(at)).voters.map(({ voter }) => voter)).toEqual(['anna', 'ben', MEMBER])
    expect(nodeIdOf(HOUSE_SEED)).not.toBe(nodeIdOf(MEMBER_SEED))
  })
})

/** L, the order of the base point (RFC 8032 § 5.1), and scalars that are the same modulo L. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const ORDER_HEX = littleEndian(ORDER)

function littleEndian(value: bigint): string {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse().toString('hex')
}

function addOrder(scalar: string, times: bigint): string {
  const value = BigInt(`0x${Buffer.from(scalar, 'hex').reverse().toString('hex')}`)
  return littleEndian(value + times * ORDER)
}

/**
 * The points of small order, and encodings of them that RFC 8032 does not allow (y of p or more, or a sign for x = 0):
 * the list of libsodium's `ge25519_has_small_order` and of "Taming the many EdDSAs" (Chalkias et al., 2020), table 1.
 */
const UNUSABLE_POINTS = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000080',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
]
