import { createSecretKey } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { ephemeralOf, identityOf, NEW_YEAR_MS, vectors } from '../../test/mesh-keys.ts'
import { fromHex, toHex } from '../core/bytes.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { ManualClock } from '../../test/manual-clock.ts'
import { canonicalJson } from '../core/json.ts'
import {
  formatAnswerTextToSign,
  computeBodyHash,
  formatCallTextToSign,
  toEnvelopeFields,
  parseMeshEnvelopeFields,
} from './mesh-envelope.ts'
import type { MeshEnvelope } from './mesh-envelope.ts'
import { admitMessage } from './message-gate.ts'
import type { MessageGateDependencies } from './message-gate.ts'
import { createHeaderFieldReader, encodeEnvelopeHeaders } from './http/envelope-headers.ts'
import { createCommunity, admitMember, revokeMember } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { computeTextMac, deriveSessionKey } from './identity/session-key.ts'
import { formatMeshTime } from './identity/mesh-time.ts'
import { createMacProof, createSignatureProof } from './message-proof.ts'
import { PeerRateLimiter } from './peer-rate-limiter.ts'
import { readMeshRefusalReason } from './mesh-refusal.ts'
import { ReplayCache } from './replay-cache.ts'
import { IssuedSessions, createSessionProposal, completeSessionFromAnswer } from './sessions.ts'
import type { MeshSession } from './sessions.ts'

const [caller, root, provider, outsider] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const BODY = computeBodyHash('{"x":1}')

let clock: ManualClock
let parts: MessageGateDependencies
let session: MeshSession
let community: Community
let ids = 0

beforeEach(() => {
  clock = manualClock(NEW_YEAR_MS)
  const byRoot = { authority: { self: provider, root }, nowMs: NEW_YEAR_MS }
  const founder = { nodeId: provider.id, name: 'provider' }
  const founded = createCommunity({ name: 'village', root, founder, nowMs: NEW_YEAR_MS })
  const grown = admitMember(founded, { nodeId: caller.id, name: 'caller', level: 'trusted' }, byRoot)
  if (!grown.ok) throw new Error(grown.fault.kind)
  community = grown.value
  parts = {
    self: provider.id,
    community: () => community,
    sessions: new IssuedSessions(provider.id, clock),
    replay: new ReplayCache(clock.monotonic(), 200),
    nonMemberReplay: new ReplayCache(clock.monotonic(), 60),
    rate: new PeerRateLimiter({ callsPerSecond: 100, callsPerSecondPerCapability: 10 }),
    clock,
  }
  session = newSession()
})

describe('mesh envelope', () => {
  it('is signed over the published text, which is canonical JSON', () => {
    const { envelope, body, text, body_sha256: hash } = vectors.call
    expect(formatCallTextToSign(envelope, computeBodyHash(body))).toBe(text)
    expect(computeBodyHash(body)).toBe(hash)
    expect(canonicalJson(JSON.parse(text))).toBe(text)
  })

  it('decodes to the same fields', () => {
    const read = parseMeshEnvelopeFields((name) => vectors.call.envelope[name])
    expect(read.ok && toEnvelopeFields(read.value)).toEqual(vectors.call.envelope)
  })

  it('covers the actor in the signed text when it names one', () => {
    const { actor, text, signature, mac } = vectors.call_for_somebody
    const fields = { actor, ...vectors.call.envelope }
    expect(formatCallTextToSign(fields, computeBodyHash(vectors.call.body))).toBe(text)
    expect(canonicalJson(JSON.parse(text))).toBe(text)
    expect(createSignatureProof(text, caller)).toBe(signature)
    expect(computeTextMac(createSecretKey(fromHex(vectors.session.key)), text)).toBe(mac)
    const read = parseMeshEnvelopeFields((name) => fields[name as 'actor'])
    expect(read.ok && [read.value.actor, toEnvelopeFields(read.value)]).toEqual(['claude', fields])
    const headers = encodeEnvelopeHeaders(fields, 'p')
    expect(headers['x-hearthnet-actor']).toBe('claude')
    expect(createHeaderFieldReader(headers)('actor')).toBe('claude')
  })

  it('is invalid with a malformed actor', () => {
    for (const actor of ['', 'a b', '/claude', 'claude, gpt', 'x'.repeat(129), '<b>', 'J\u00fcrgen', 'a\n']) {
      const read = parseMeshEnvelopeFields((name) => (name === 'actor' ? actor : vectors.call.envelope[name]))
      expect(!read.ok && read.fault.message).toBe('These fields of the envelope are missing or malformed: actor.')
    }
  })

  it('has the published MAC under a derived session key', () => {
    const key = deriveSessionKey(ephemeralOf(4), vectors.session.providerKey, vectors.session)
    const same = deriveSessionKey(ephemeralOf(5), vectors.session.callerKey, vectors.session)
    if (key === undefined || same === undefined) throw new Error('no key')
    expect([key, same].map((each) => toHex(each.export()))).toEqual([vectors.session.key, vectors.session.key])
    expect(computeTextMac(key, vectors.call.text)).toBe(vectors.session.mac_of_call)
  })

  it('is answered with the published text to sign', () => {
    const { body, text } = vectors.answer
    const requestId = vectors.call.envelope['request_id'] ?? ''
    expect(formatAnswerTextToSign({ requestId, from: provider.id, status: 200, bodyHash: computeBodyHash(body) })).toBe(
      text,
    )
    expect(createSignatureProof(text, provider)).toBe(vectors.answer.signature)
  })
})

describe('message gate', () => {
  it('admits a member by session key and by signature', () => {
    expect(knock({})).toBe('trusted')
    expect(knock({}, { sign: true })).toBe('trusted')
  })

  it('refuses a message that is unsigned or signed by another node', () => {
    expect(knock({}, { proof: '' })).toBe('invalid_signature proof')
    expect(knock({}, { proof: `ed25519:${'A'.repeat(86)}` })).toBe('invalid_signature proof')
    expect(knock({}, { proof: 'hmac-sha256:AAAA' })).toBe('invalid_signature proof')
    expect(knock({}, { sign: true, by: outsider })).toBe('invalid_signature proof')
  })

  it('refuses a tampered body and a tampered envelope', () => {
    expect(knock({}, { bodyHash: computeBodyHash('{"x":2}') })).toBe('invalid_signature proof')
    expect(knock({}, { tamper: { capability: 'test.write' } })).toBe('invalid_signature proof')
    expect(knock({}, { tamper: { deadlineMs: 1 } })).toBe('invalid_signature proof')
    expect(knock({}, { tamper: { hops: 4 } })).toBe('invalid_signature proof')
    for (const sign of [true, false]) {
      expect(knock({ actor: 'claude' }, { sign })).toBe('trusted')
      expect(knock({ actor: 'claude' }, { sign, tamper: { actor: 'gpt' } })).toBe('invalid_signature proof')
      expect(knock({ actor: 'claude' }, { sign, tamper: { actor: undefined } })).toBe('invalid_signature proof')
      expect(knock({}, { sign, tamper: { actor: 'claude' } })).toBe('invalid_signature proof')
    }
  })

  it('refuses a message addressed to another node or another community', () => {
    expect(knock({ to: outsider.id })).toBe('invalid_signature wrong-recipient')
    expect(knock({ community: outsider.id })).toBe('unauthorized foreign-community')
  })

  it('refuses a message whose timestamp is more than a minute off', () => {
    expect(knock({ timestamp: formatMeshTime(NEW_YEAR_MS - 61_000) })).toBe('expired skew')
    expect(knock({ timestamp: formatMeshTime(NEW_YEAR_MS + 61_000) })).toBe('expired skew')
    expect(knock({ timestamp: formatMeshTime(NEW_YEAR_MS - 59_000) })).toBe('trusted')
  })

  it('refuses a replay for as long as its timestamp would still be valid', () => {
    const requestId = '01JGFJJZ00BAA6K3XEY2QKD4AA'
    const timestamp = formatMeshTime(NEW_YEAR_MS + 60_000)
    expect(knock({ requestId, timestamp })).toBe('trusted')
    for (let second = 0; second < 120; second += 10) {
      expect(knock({ requestId, timestamp })).toBe('expired replayed')
      clock.advance(10_000)
    }
    clock.advance(1_000)
    expect(knock({ requestId, timestamp })).toBe('expired skew')
  })

  it('refuses a node that is not a member and a node that was revoked', () => {
    expect(knock({ from: outsider.id }, { sign: true, by: outsider })).toBe('unauthorized stranger')
    const revoked = revokeMember(community, caller.id, { authority: { self: provider, root }, nowMs: NEW_YEAR_MS })
    if (!revoked.ok) throw new Error(revoked.fault.kind)
    community = revoked.value
    expect(knock({})).toBe('revoked revoked')
  })

  it('refuses an unknown, a missing and an expired session key', () => {
    expect(knock({ keyId: 'unheard-of' }, { sign: true })).toBe('invalid_signature unknown-session')
    expect(knock({ keyId: undefined }, { sign: true })).toBe('invalid_signature unknown-session')
    clock.advance(3_600_000)
    expect(knock({ timestamp: formatMeshTime(clock.now()) })).toBe('invalid_signature unknown-session')
  })

  it('admits a non-member only for mesh.join, and only with a signature', () => {
    const joining = { from: outsider.id, capability: 'mesh.join', keyId: undefined }
    expect(knock(joining, { sign: true, by: outsider })).toBe('unknown')
    expect(knock(joining, { proof: '' })).toBe('invalid_signature proof')
  })

  it('refuses calls beyond the rate limit until the budget refills', () => {
    for (let count = 0; count < 50; count++) expect(knock({})).toBe('trusted')
    expect(knock({})).toBe('rate_limited rate')
    // Another capability has a budget of its own.
    expect(knock({ capability: 'test.other' })).toBe('trusted')
    clock.advance(100)
    expect(knock({})).toBe('trusted')
  })
})

describe('non-members at the message gate', () => {
  const join = (number: number, requestId?: string): string => {
    const by = identityOf(100 + number)
    const change = { from: by.id, capability: 'mesh.join', keyId: undefined, timestamp: formatMeshTime(clock.now()) }
    return knock(requestId === undefined ? change : { ...change, requestId }, { sign: true, by })
  }

  it('share one rate budget, which does not reduce the budget of a member', () => {
    const verdicts = Array.from({ length: 60 }, (_, number) => join(number))
    expect([verdicts.indexOf('rate_limited rate'), new Set(verdicts.slice(50)).size]).toEqual([50, 1])
    expect(knock({ capability: 'mesh.join' })).toBe('trusted')
  })

  it('cannot fill the replay cache of members', () => {
    parts = { ...parts, rate: new PeerRateLimiter({ callsPerSecond: 1_000, callsPerSecondPerCapability: 1_000 }) }
    const verdicts = Array.from({ length: 100 }, (_, number) => join(number))
    expect(verdicts.indexOf('rate_limited rate')).toBe(60)
    for (let count = 0; count < 200; count++) expect(knock({})).toBe('trusted')
  })

  it('are refused when they replay a request', () => {
    const requestId = '01JGFJJZ00BAA6K3XEY2QKD4AA'
    expect([join(1, requestId), join(1, requestId)]).toEqual(['unknown', 'expired replayed'])
  })
})

describe('peer rate limiter', () => {
  it('forgets a peer whose budget is full again', () => {
    const budget = new PeerRateLimiter({ callsPerSecond: 10, callsPerSecondPerCapability: 1 })
    for (let peer = 0; peer < 1_000; peer++) budget.take(`early ${peer}`, 'test.echo', 0)
    for (let count = 0; count < 5; count++) budget.take('late', 'test.echo', 4_000)
    expect(budget.peers).toBe(1_001)
    budget.take('new', 'test.echo', 5_000)
    expect(budget.peers).toBe(2)
    // Who has used it up a second ago has one back.
    expect([budget.take('late', 'test.echo', 5_000), budget.take('late', 'test.echo', 5_000)]).toEqual([0, 1_000])
  })
})

describe('replay cache', () => {
  it('refuses new ids when it is full instead of forgetting old ones', () => {
    const cache = new ReplayCache(0, 2)
    expect(['a', 'b', 'c', 'a'].map((id) => cache.see('n', id, 0))).toEqual(['new', 'new', 'full', 'replayed'])
  })
})

interface Knock {
  readonly sign?: boolean
  readonly by?: typeof caller
  readonly proof?: string
  readonly bodyHash?: string
  readonly tamper?: Partial<MeshEnvelope>
}

/** The caller's level, or code and reason of the refusal. */
function knock(change: Partial<MeshEnvelope>, how: Knock = {}): string {
  const envelope: MeshEnvelope = {
    capability: 'test.echo',
    version: [1, 0],
    requestId: `01JGFJJZ00BAA6K3XE${String(ids++).padStart(8, '0')}`,
    from: caller.id,
    to: provider.id,
    community: root.id,
    timestamp: formatMeshTime(NEW_YEAR_MS),
    deadlineMs: 30_000,
    keyId: session.id,
    session: undefined,
    hops: 0,
    stream: false,
    schemaHash: undefined,
    traceparent: undefined,
    ...change,
  }
  const text = formatCallTextToSign(toEnvelopeFields(envelope), BODY)
  const proof =
    how.proof ?? (how.sign === true ? createSignatureProof(text, how.by ?? caller) : createMacProof(text, session))
  const sealed = { envelope: { ...envelope, ...how.tamper }, proof, bodyHash: how.bodyHash ?? BODY }
  const admitted = admitMessage(sealed, parts)
  return admitted.ok ? admitted.value.caller.level : `${admitted.fault.code} ${readMeshRefusalReason(admitted.fault)}`
}

function newSession(): MeshSession {
  const offer = createSessionProposal()
  const given = parts.sessions.give(caller.id, offer.ephemeral.publicKey)
  const taken = given && completeSessionFromAnswer(offer, given, { self: caller.id, peer: provider.id, nowMs: 0 })
  if (taken === undefined) throw new Error('no session')
  return { ...taken, peer: caller.id }
}
