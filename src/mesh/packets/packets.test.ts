import { beforeEach, describe, expect, it } from 'vitest'
import { answering, callOf, echo, node, offered, reply } from '../../../test/bus-village.ts'
import { identityOf, NEW_YEAR_MS } from '../../../test/mesh-keys.ts'
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Outcome } from '../../bus/call.ts'
import type { Offer } from '../../bus/capability.ts'
import { computeSchemaHash } from '../../bus/schema-hash.ts'
import { manualClock } from '../../../test/manual-clock.ts'
import type { ManualClock } from '../../../test/manual-clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import type { MessageGateDependencies } from '../message-gate.ts'
import { createCommunity, admitMember, revokeMember } from '../identity/community.ts'
import type { Community } from '../identity/community.ts'
import { InboundCallHandler } from '../inbound-calls.ts'
import { PeerRateLimiter } from '../peer-rate-limiter.ts'
import { readMeshRefusalReason } from '../mesh-refusal.ts'
import { ReplayCache } from '../replay-cache.ts'
import { IssuedSessions, createSessionProposal, completeSessionFromAnswer } from '../sessions.ts'
import type { MeshSession, PacketProofMode } from '../sessions.ts'
import type { PacketConnection } from '../transport.ts'
import { formatPacketHeaderToSign, encodePacket } from './packet.ts'
import { PacketCaller } from './packet-caller.ts'
import { encodePacketCall } from './packet-call.ts'
import { computeSessionPacketProof } from './packet-proof.ts'
import { PacketCallServer } from './packet-provider.ts'
import type { InboundPacketConnection } from './packet-provider.ts'

const [callerKey, root, providerKey, outsider] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const OFFER = offered({ name: 'test.echo' })
const BY_ROOT = { authority: { self: providerKey, root }, nowMs: NEW_YEAR_MS }

let clock: ManualClock
let community: Community
let bus: CapabilityBus
let sessions: IssuedSessions
let provider: PacketCallServer
let caller: PacketCaller
let session: MeshSession
/** What is on its way, and what may be done to it. */
let meddle: (packet: string) => string
let isCut: boolean
let sent: string[]
let source: InboundPacketConnection
let wire: PacketConnection

beforeEach(() => open('session', 'session'))

describe('packets', () => {
  it('carry all calls of one moment after the first, which is sent at once, and all their answers', async () => {
    const outcomes = await Promise.all([1, 2, 3].map((x) => call({ x })))
    expect(outcomes).toEqual([1, 2, 3].map((x) => ok({ data: { x } })))
    expect(sent.map((packet) => packet.split(' ').slice(1, 5).join(' '))).toEqual([
      `call ${session.id} 1 1`,
      `call ${session.id} 2 2`,
    ])
  })

  it('hold 32 calls, or half of the calls in flight if that is more, at most 64', async () => {
    await Promise.all(Array.from({ length: 41 }, (_, x) => call({ x })))
    expect(sent.map((packet) => packet.split(' ')[4])).toEqual(['1', '32', '8'])
    open('session', 'session')
    await Promise.all(Array.from({ length: 300 }, (_, x) => call({ x })))
    expect(sent.map((packet) => packet.split(' ')[4])).toEqual(['1', '32', '33', '64', '64', '64', '42'])
  })

  it('carry together the calls that follow from answers that came together', async () => {
    const eight = (): Promise<unknown> => Promise.all(Array.from({ length: 8 }, (_, x) => call({ x })))
    await eight()
    await eight()
    expect(sent.map((packet) => packet.split(' ')[4])).toEqual(['1', '7', '8'])
  })

  it('are processed one after the other: the first is answered before the second is read', async () => {
    wire = { ...wire, send: (packet) => sent.push(packet) > 0 }
    for (const x of [1, 2]) void call({ x })
    await moment()
    const answers: string[] = []
    const from: InboundPacketConnection = { ...source, answer: (text) => void answers.push(text.split('\n')[1] ?? '') }
    for (const packet of sent) provider.receive(packet, from)
    await moment()
    expect(answers).toEqual(['[[1,200,{"ok":true,"data":{"x":1}}]]', '[[2,200,{"ok":true,"data":{"x":2}}]]'])
  })

  it('hold at most 32 calls for a node that states no limit', async () => {
    session = sessionBetween('session', sessions, { packet_calls: null })
    await Promise.all(Array.from({ length: 300 }, (_, x) => call({ x })))
    expect(Math.max(...sent.map((packet) => Number(packet.split(' ')[4])))).toBe(32)
  })

  it('are refused when they were altered in transit', async () => {
    meddle = (packet) => packet.replace('"x":1', '"x":2')
    expect(await refusedWith(call({ x: 1 }))).toBe('proof')
  })

  it('are refused on a connection that belongs to another node', async () => {
    source = { ...source, shownBy: outsider.id }
    expect(await refusedWith(call({}))).toBe('proof')
  })

  it('of kind "again" are ignored from another node or with an invalid proof', async () => {
    const answers: string[] = []
    const broker = { ...source, shownBy: undefined, mayLose: true, answer: (text: string) => void answers.push(text) }
    for (const number of [1, 2, 999_999_999_999_999]) {
      const covered = formatPacketHeaderToSign({ kind: 'again', keyId: session.id, number })
      provider.receive(encodePacket(covered, computeSessionPacketProof('call', covered, '', session)), {
        ...broker,
        shownBy: outsider.id,
      })
      for (const proof of ['', 'hmac-sha256:x', computeSessionPacketProof('call', covered, ' ', session)])
        provider.receive(encodePacket(covered, proof), broker)
    }
    await moment()
    expect(answers).toEqual([])
    // Had it been answered "it never came", the numbers would be refused from then on, and all before them.
    expect(await Promise.all([call({ x: 1 }), call({ x: 2 })])).toEqual([1, 2].map((x) => ok({ data: { x } })))
  })

  it('of kind "cancel" are ignored from another node or without a valid proof', async () => {
    bus.registerCapability(
      answering({ name: 'test.slow' }, async ({ signal }) => (await moment(), reply(signal.aborted))),
    )
    const slow = call({}, offered({ name: 'test.slow' }))
    await new Promise((resolve) => setImmediate(resolve))
    const covered = formatPacketHeaderToSign({ kind: 'cancel', keyId: session.id, number: 1 })
    provider.receive(encodePacket(covered), { ...source, shownBy: undefined })
    provider.receive(encodePacket(covered, computeSessionPacketProof('call', covered, '', session)), {
      ...source,
      shownBy: outsider.id,
    })
    // Read before the slow one looks: it takes a few turns of the loop, and these are read in this one.
    expect(await slow).toEqual(reply(false))
  })

  it('whose numbers were seen before are sent another way if idempotent, and else fail with an unknown outcome', async () => {
    meddle = (packet) => {
      // Somebody on the wire says it first.
      provider.receive(packet, { ...source, answer: () => undefined })
      return packet
    }
    expect(await call({ x: 1 })).toEqual(ok({ data: 'stale' }))
    expect(kindOf(await call({ x: 1 }, OFFER, false))).toBe('unknown-outcome')
  })

  it('are refused when they are received a second time', async () => {
    await Promise.all([1, 2, 3].map((x) => call({ x })))
    provider.receive(sent[1] ?? '', source)
    await moment()
    const answers = JSON.parse(lastAnswer) as [number, number, { error?: string }][]
    expect(answers.map(([number, status, { error }]) => [number, status, error])).toEqual([
      [2, 410, 'expired'],
      [3, 410, 'expired'],
    ])
  })

  it('are refused when the clock of their sender differs by more than a minute', async () => {
    meddle = (packet) => {
      clock.advance(61_000)
      return packet
    }
    expect(await refusedWith(call({}))).toBe('skew')
  })

  it('are refused when their sender was revoked', async () => {
    const without = revokeMember(community, callerKey.id, BY_ROOT)
    if (!without.ok) throw new Error(without.fault.kind)
    community = without.value
    expect(await refusedWith(call({}))).toBe('revoked')
  })

  it('are sent another way when the provider has lost the session or the connection cannot send', async () => {
    sessions.forget(callerKey.id)
    expect(await call({})).toEqual(ok({ data: 'stale' }))
    isCut = true
    expect(await call({})).toEqual(ok({ data: 'unsent' }))
  })

  it('can have one call refused and the others answered', async () => {
    bus.registerCapability(answering({ name: 'test.write', effect: 'writes' }, echo))
    const [first, second] = await Promise.all([
      call({ x: 1 }),
      call({}, offered({ name: 'test.write', effect: 'writes' })),
    ])
    expect(first).toEqual(ok({ data: { x: 1 } }))
    expect(second.ok ? '' : readMeshRefusalReason(second.fault)).toBe('needs-signature')
  })

  it('of a call that was reported as never received are refused when they arrive later', async () => {
    wire = { ...wire, mayLose: true }
    source = { ...source, mayLose: true }
    meddle = () => ''
    const lost = call({ x: 1 })
    await moment()
    clock.advance(1_000)
    // It never came: so it is signed, and from then on it is refused should it come after all.
    meddle = (packet) => packet
    caller.tick()
    expect(await lost).toEqual(ok({ data: 'unsent' }))
    provider.receive(sent[0] ?? '', source)
    await moment()
    expect(lastAnswer).toContain('"reason":"replayed"')
  })

  it('bring a lost answer again when the caller asks for it', async () => {
    wire = { ...wire, mayLose: true }
    source = { ...source, mayLose: true }
    const answer = source.answer
    source = { ...source, answer: () => undefined }
    const late = call({ x: 1 })
    await moment()
    source = { ...source, answer }
    clock.advance(1_000)
    caller.tick()
    expect(await late).toEqual(ok({ data: { x: 1 } }))
  })

  it('that are unanswered when the connection breaks fail, with an unknown outcome if not idempotent', async () => {
    source = { ...source, answer: () => undefined }
    const [safe, unsafe] = [call({}), call({}, OFFER, false)]
    await moment()
    caller.broke(wire, 'the connection broke')
    expect([kindOf(await safe), kindOf(await unsafe)]).toEqual(['failed', 'unknown-outcome'])
    expect(wire.inFlight).toBe(0)
  })

  it('abort the signal of the handler when the caller cancels', async () => {
    let isAborted = false
    bus.registerCapability(
      answering(
        { name: 'test.wait' },
        ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              isAborted = true
              resolve(ok({ data: null }))
            })
          }),
      ),
    )
    const controller = new AbortController()
    const waiting = call({}, offered({ name: 'test.wait' }), true, controller.signal)
    await moment()
    controller.abort()
    expect(kindOf(await waiting)).toBe('cancelled')
    await moment()
    expect(isAborted).toBe(true)
  })
})

describe('packets without signatures', () => {
  it('carry a token if both nodes agree to leave out signatures', async () => {
    open('none', 'none')
    expect(await call({ x: 1 })).toEqual(ok({ data: { x: 1 } }))
    expect(sent[0]).toMatch(/ token:[\w-]{43}\n/)
  })

  it('carry a MAC if either node requires signatures', async () => {
    for (const [mine, theirs] of [
      ['session', 'none'],
      ['none', 'session'],
    ] as const) {
      open(mine, theirs)
      expect(await call({ x: 1 })).toEqual(ok({ data: { x: 1 } }))
      expect(sent[0]).toMatch(/ hmac-sha256:/)
    }
  })

  it('are refused with a missing or wrong token, also that of an answer', async () => {
    open('none', 'none')
    for (const token of ['', 'token:x', session.tokens?.answer ?? '']) {
      meddle = (packet) => packet.replace(/ token:\S+/, ` ${token}`)
      expect(await refusedWith(call({}))).toBe('proof')
    }
  })

  it('are refused with a token if the session requires proofs', async () => {
    const other = sessionBetween('session', new IssuedSessions(providerKey.id, clock, 'none'))
    meddle = (packet) => packet.replace(/ hmac-sha256:\S+/, ` token:${other.id}`)
    expect(await refusedWith(call({}))).toBe('proof')
  })
})

let lastAnswer = ''

function open(mine: PacketProofMode, theirs: PacketProofMode): void {
  clock = manualClock(NEW_YEAR_MS)
  const founder = { nodeId: providerKey.id, name: 'provider' }
  const founded = createCommunity({ name: 'village', root, founder, nowMs: NEW_YEAR_MS })
  const grown = admitMember(founded, { nodeId: callerKey.id, name: 'caller', level: 'trusted' }, BY_ROOT)
  if (!grown.ok) throw new Error(grown.fault.kind)
  community = grown.value
  bus = node(providerKey.id, { clock })
  bus.registerCapability({ offer: OFFER, handle: echo })
  sessions = new IssuedSessions(providerKey.id, clock, theirs)
  const gate: MessageGateDependencies = {
    self: providerKey.id,
    community: () => community,
    sessions,
    replay: new ReplayCache(0),
    nonMemberReplay: new ReplayCache(0),
    rate: new PeerRateLimiter({ callsPerSecond: 1_000, callsPerSecondPerCapability: 1_000 }),
    clock,
  }
  const report = (error: unknown): never => {
    throw error
  }
  const inbound = new InboundCallHandler({
    identity: providerKey,
    gate,
    bus: () => bus,
    control: () => undefined,
    report,
  })
  provider = new PacketCallServer({ identity: providerKey, gate, inbound, maxBodyBytes: 262_144 })
  caller = new PacketCaller(clock)
  session = sessionBetween(mine, sessions)
  meddle = (packet) => packet
  isCut = false
  sent = []
  lastAnswer = ''
  source = {
    shownBy: callerKey.id,
    mayLose: false,
    maxBytes: 262_144,
    running: 0,
    answer: (packet) => {
      lastAnswer = packet.split('\n')[1] ?? ''
      caller.receive(packet)
    },
  }
  wire = {
    nodeId: providerKey.id,
    mayLose: false,
    inFlight: 0,
    send: (packet) => {
      if (isCut) return false
      sent.push(packet)
      provider.receive(meddle(packet), source)
      return true
    },
    doubt: () => undefined,
  }
}

function sessionBetween(mine: PacketProofMode, given: IssuedSessions, more: JsonObject = {}): MeshSession {
  const offer = createSessionProposal(mine)
  const answer = given.give(callerKey.id, offer.ephemeral.publicKey, mine)
  const taken =
    answer &&
    completeSessionFromAnswer(offer, { ...answer, ...more }, { self: callerKey.id, peer: providerKey.id, nowMs: 0 })
  if (taken === undefined) throw new Error('no session')
  return taken
}

function call(
  body: Record<string, number>,
  offer: Offer = OFFER,
  idempotent = true,
  signal?: AbortSignal,
): Promise<Outcome> {
  const made = callOf(offer.name, { body, ...(signal === undefined ? {} : { signal }) })
  return caller.call(wire, session, {
    text: encodePacketCall(offer, computeSchemaHash(offer), { call: made, deadlineMs: 30_000 }),
    idempotent,
    call: made,
    otherwise: async (why) => ok({ data: why }),
  })
}

async function refusedWith(outcome: Promise<Outcome>): Promise<string | undefined> {
  const ended = await outcome
  return ended.ok ? undefined : readMeshRefusalReason(ended.fault)
}

function kindOf(outcome: Outcome): string {
  return outcome.ok ? 'ok' : outcome.fault.kind
}

/** Until everything that can go on has gone on: calls gather, answers gather. */
async function moment(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
