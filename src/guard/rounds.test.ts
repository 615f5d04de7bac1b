import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  actuator,
  ADMIN,
  around,
  assessedOffer,
  callOf,
  MEMBER_SEED,
  nodeIdOf,
  openHouse,
  TEST_VOTING,
} from '../../test/guard-house.ts'
import type { Actuator, GuardHouse } from '../../test/guard-house.ts'
import type { Caller, Outcome } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import { fromHex } from '../core/bytes.ts'
import type { OwnerRule } from './policy.ts'
import type { QuorumRoundRecord } from './quorum-round-terms.ts'
import { FIRST_VOTE_PREVIOUS_HASH, signVote, computeVoterKeyId, deriveVoterPublicKey } from './vote.ts'
import type { SignedVote } from './vote.ts'

const PEOPLE = ['anna', 'ben', 'cara']
const offer = { ...assessedOffer('sensitive', () => ({ target: 'lock:1', label: 'Front door' })), name: 'test.lock' }
const rule: OwnerRule = { tool: 'test.lock', says: 'quorum', voters: PEOPLE, need: 2 }
const OPEN = { to: 'open' }

function person(id: string): Caller {
  return { kind: 'principal', id, role: 'approver' }
}

function house(ownerRules: readonly OwnerRule[] = [rule]): GuardHouse & Disposable {
  return openHouse({ ownerRules }, undefined, [...PEOPLE, 'narrow'])
}

async function make({ guard }: GuardHouse, lock: Actuator, body: JsonObject = OPEN): Promise<Outcome> {
  return around(guard, callOf(offer, body), offer, lock.proceed)
}

async function begin(at: GuardHouse, lock: Actuator): Promise<QuorumRoundRecord> {
  const outcome = await make(at, lock)
  return roundOf(at, askedIn(outcome))
}

function askedIn(outcome: Outcome): string {
  const id = outcome.ok ? undefined : outcome.fault.details?.['approval_id']
  return typeof id === 'string' ? id : ''
}

function roundOf({ guard }: GuardHouse, id: string): QuorumRoundRecord {
  const round = guard.quorums.get(id)
  if (round === undefined) throw new Error(`there is no round ${id}`)
  return round
}

async function vote(
  at: GuardHouse,
  round: QuorumRoundRecord,
  id: string,
  decision: 'allow' | 'deny' = 'allow',
): Promise<string> {
  const { digest } = round
  const cast = await at.guard.quorums.vote(round.id, { by: person(id), decision, reason: '', digest })
  return cast.ok ? 'signed' : (cast.fault.code ?? cast.fault.kind)
}

describe('quorum round', () => {
  it('lets the call run exactly once, after enough yes votes and not before', async () => {
    using at = house()
    const lock = actuator()
    const round = await begin(at, lock)
    expect([round.need, round.voters.map(({ voter }) => voter), round.level]).toEqual([2, PEOPLE, 'PENDING'])
    expect(await vote(at, round, 'anna')).toBe('signed')
    expect(roundOf(at, round.id).level).toBe('SOFT')
    await make(at, lock)
    expect(lock.calls).toHaveLength(0)
    expect(await vote(at, round, 'ben')).toBe('signed')
    expect(roundOf(at, round.id).level).toBe('QUORUM')
    expect(at.guard.approvals.get(round.id)).toMatchObject({ state: 'approved', decidedBy: 'quorum' })
    await Promise.all([make(at, lock), make(at, lock), make(at, lock)])
    expect(lock.calls).toHaveLength(1)
    expect(await vote(at, round, 'cara')).toBe('ROUND_CLOSED')
  })

  it('records an approval as a vote and lists all votes', async () => {
    using at = house()
    const round = await begin(at, actuator())
    expect(await at.guard.approvals.approve(round.id, person('anna'))).toMatchObject({
      ok: true,
      value: { state: 'requested', round: { votes: [{ voter: 'anna', decision: 'allow' }] } },
    })
    expect(await at.guard.approvals.approve(round.id, ADMIN)).toMatchObject({ fault: { code: 'NOT_A_VOTER' } })
    expect(await at.guard.approvals.approve(round.id, person('ben'))).toMatchObject({ value: { state: 'approved' } })
    expect(await at.guard.approvals.approve(round.id, person('cara'), { grant: {} as never })).toMatchObject({
      ok: false,
    })
  })

  it('is denied when a quorum has become impossible, or by one no vote if the rule gives a veto', async () => {
    using at = house()
    const round = await begin(at, actuator())
    await vote(at, round, 'anna', 'deny')
    expect(at.guard.approvals.get(round.id)?.state).toBe('requested')
    await vote(at, round, 'ben', 'deny')
    expect(at.guard.approvals.get(round.id)?.state).toBe('denied')
    expect(await make(at, actuator())).toMatchObject({ fault: { kind: 'not-permitted' } })
    using strict = house([{ ...rule, veto: true }])
    const second = await begin(strict, actuator())
    await vote(strict, second, 'anna')
    await vote(strict, second, 'ben')
    // A no before the call was made stops it.
    expect(await vote(strict, second, 'cara', 'deny')).toBe('signed')
    expect(strict.guard.approvals.get(second.id)?.state).toBe('denied')
    expect(roundOf(strict, second.id).level).toBe('QUORUM')
  })

  it('keeps both contradictory votes of a voter and counts neither', async () => {
    using at = house()
    const lock = actuator()
    const round = await begin(at, lock)
    await vote(at, round, 'anna')
    expect(await vote(at, round, 'anna')).toBe('ALREADY_VOTED')
    expect(await vote(at, round, 'anna', 'deny')).toBe('EQUIVOCATION')
    expect(roundOf(at, round.id).conflicts).toMatchObject([{ voter: 'anna', votes: [{}, {}] }])
    await vote(at, round, 'ben')
    await make(at, lock)
    expect(lock.calls).toHaveLength(0)
    await vote(at, round, 'cara')
    await make(at, lock)
    expect(lock.calls).toHaveLength(1)
  })

  it('survives a power cut before and after a vote, and expires', async () => {
    using at = house()
    const lock = actuator()
    const round = await begin(at, lock)
    await vote(at, round, 'anna')
    const again = at.afterPowerCut()
    expect(roundOf(again, round.id).votes).toHaveLength(1)
    await vote(again, round, 'ben')
    const third = again.afterPowerCut()
    await make(third, lock)
    expect(lock.calls).toHaveLength(1)
    await make(third, lock)
    expect(lock.calls).toHaveLength(1)
    at.clock.advance(600_001)
    expect(await vote(at, round, 'ben')).toBe('ROUND_CLOSED')
    await make(at, lock)
    expect(lock.calls).toHaveLength(1)
  })

  it('does not count a yes vote of a credential revoked before or after the quorum', async () => {
    using at = house()
    const lock = actuator()
    const round = await begin(at, lock)
    await vote(at, round, 'anna')
    await at.guard.tokens.revoke(ADMIN, 'anna')
    await vote(at, round, 'ben')
    expect(at.guard.approvals.get(round.id)?.state).toBe('requested')
    await vote(at, round, 'cara')
    expect(at.guard.approvals.get(round.id)?.state).toBe('approved')
    await at.guard.tokens.revoke(ADMIN, 'ben')
    await make(at, lock)
    expect(lock.calls).toHaveLength(0)
  })

  it('counts the vote of a node until the node is revoked', async () => {
    const member = nodeIdOf(MEMBER_SEED)
    const voters = ['anna', 'ben', `node:${member}`]
    using at = house([{ ...rule, voters, need: 2 }])
    const lock = actuator()
    const round = await begin(at, lock)
    await vote(at, round, 'anna')
    const cast = nodeVote(round)
    expect(await at.guard.quorums.take(round.id, { voter: `node:${member}`, vote: cast })).toMatchObject({ ok: true })
    expect(roundOf(at, round.id).level).toBe('QUORUM')
    await at.database.commit(() =>
      at.log.appendIn({ kind: 'community.changed', community_id: 'x', revision: 2, digest: 'd', revoked: [member] }),
    )
    await make(at, lock)
    expect(lock.calls).toHaveLength(0)
  })

  it('can be proposed for a call that needs no approval, and then holds it back until the quorum', async () => {
    using at = house([])
    const write = { ...assessedOffer('writes', () => ({ target: 'lamp:1' })), name: 'test.lamp' }
    const lamp = actuator()
    const proposed = await at.guard.quorums.propose(callOf(write, OPEN), write, { voters: PEOPLE })
    const round = roundOf(at, proposed.ok ? proposed.value.id : '')
    // ⌊2·3/3⌋ + 1.
    expect(round.need).toBe(3)
    const again = await at.guard.quorums.propose(callOf(write, OPEN), write, { voters: PEOPLE })
    expect(again.ok && again.value.id).toBe(round.id)
    await around(at.guard, callOf(write, OPEN), write, lamp.proceed)
    expect(lamp.calls).toHaveLength(0)
    await around(at.guard, callOf(write, { to: 'other' }), write, lamp.proceed)
    expect(lamp.calls).toHaveLength(1)
    for (const id of PEOPLE) await vote(at, round, id)
    await around(at.guard, callOf(write, OPEN), write, lamp.proceed)
    expect(lamp.calls).toHaveLength(2)
  })

  it('becomes HARD with a cosigned checkpoint and ABSOLUTE after the dispute window', async () => {
    using at = house()
    const round = await begin(at, actuator())
    await vote(at, round, 'anna')
    await vote(at, round, 'ben')
    const { quorumSeq = 0 } = roundOf(at, round.id)
    await at.guard.quorums.finalize({ size: quorumSeq, by: () => undefined })
    expect(roundOf(at, round.id).level).toBe('QUORUM')
    await at.guard.quorums.finalize({ size: quorumSeq + 1, by: () => undefined })
    expect(roundOf(at, round.id).level).toBe('HARD')
    await at.guard.quorums.finalize({ size: quorumSeq + 1, by: () => undefined })
    expect(roundOf(at, round.id).level).toBe('HARD')
    at.clock.advance(3_600_000)
    await at.guard.quorums.finalize({ size: quorumSeq + 1, by: () => undefined })
    expect(roundOf(at, round.id).level).toBe('ABSOLUTE')
    expect(roundOf(at.afterPowerCut(), round.id).level).toBe('ABSOLUTE')
  })

  it('has the same result for any order of the votes', async () => {
    const said = fc.record({
      who: fc.constantFrom(...PEOPLE, 'node', 'stranger'),
      decision: fc.constantFrom('allow' as const, 'deny' as const),
    })
    const member = `node:${nodeIdOf(MEMBER_SEED)}`
    using at = house([{ ...rule, voters: [...PEOPLE, member], need: 3 }])
    let number = 0
    const run = async (
      votes: readonly { who: string; decision: 'allow' | 'deny' }[],
      name: string,
    ): Promise<string> => {
      at.clock.advance(1_000_000)
      const outcome = await make(at, actuator(), { to: 'open', name })
      const round = roundOf(at, askedIn(outcome))
      // One after another in this order, and durable together.
      const cast = votes.map(({ who, decision }) =>
        who === 'node'
          ? at.guard.quorums.take(round.id, { voter: member, vote: nodeVote(round, decision, ++number) })
          : vote(at, round, who, decision),
      )
      await Promise.all(cast)
      return at.guard.approvals.get(round.id)?.state ?? ''
    }
    const order = fc.tuple(
      fc.uniqueArray(said, { selector: ({ who }) => who, maxLength: 5 }),
      fc.infiniteStream(fc.nat()),
    )
    await fc.assert(
      fc.asyncProperty(order, fc.nat(), async ([votes, ranks], salt) => {
        const shuffled = votes
          .map((each) => ({ each, rank: Number(ranks.next().value) }))
          .toSorted((left, right) => left.rank - right.rank)
          .map(({ each }) => each)
        const [one, other] = [await run(votes, `${salt} ${number} a`), await run(shuffled, `${salt} ${number} b`)]
        expect(other).toBe(one)
        const yeses = votes.filter(({ who, decision }) => who !== 'stranger' && decision === 'allow').length
        const noes = votes.filter(({ who, decision }) => who !== 'stranger' && decision === 'deny').length
        expect(one).toBe(yeses >= 3 ? 'approved' : noes >= 2 ? 'denied' : 'requested')
      }),
      { numRuns: 500 },
    )
  })
})

function nodeVote(round: QuorumRoundRecord, decision: 'allow' | 'deny' = 'allow', seq = 1): SignedVote {
  const key = deriveVoterPublicKey(fromHex(MEMBER_SEED))
  const expires = Math.floor(round.expiresAtMs / 1_000)
  const { id: approval, digest: call, epoch } = round
  const issued = expires - 600
  const body = {
    approval,
    call,
    decision,
    epoch,
    expires,
    house: TEST_VOTING.house,
    issued,
    prev: FIRST_VOTE_PREVIOUS_HASH,
    seq,
  }
  return signVote({ ...body, voter: computeVoterKeyId(key) }, fromHex(MEMBER_SEED))
}
