/**
 * Mesh attacks: a member that has turned against its community. It has a good key and says what it likes, over
 * whichever wire; every node has to refuse the same things with the same codes.
 */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newUlid } from '../src/core/ids.ts'
import {
  formatAnswerTextToSign,
  computeBodyHash,
  formatCallTextToSign,
  toEnvelopeFields,
} from '../src/mesh/mesh-envelope.ts'
import type { MeshEnvelope } from '../src/mesh/mesh-envelope.ts'
import { deriveNodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { NodeIdentity } from '../src/mesh/identity/node-key.ts'
import { formatMeshTime } from '../src/mesh/identity/mesh-time.ts'
import { isMessageProofValid, createMacProof, createSignatureProof } from '../src/mesh/message-proof.ts'
import { createSessionProposal, completeSessionFromAnswer } from '../src/mesh/sessions.ts'
import type { MeshSession } from '../src/mesh/sessions.ts'
import { createTraceparentWithNewSpan } from '../src/toolbox/traceparent.ts'
import { callerIn, ledgered } from './mesh-attack-wire.ts'
import type { AttackWire } from './mesh-attack-wire.ts'
import { cli, closeAll, invite, meshHome, startNode, until } from './mesh-house.ts'
import type { MeshNode } from './mesh-house.ts'
import { identityOf } from './mesh-keys.ts'
import { attackByPacket, packetAttacks } from './mesh-packet-attacks.ts'

/** Whom to attack, for a wire that opens to it. */
export interface Victim {
  readonly node: MeshNode
  readonly community: string
  readonly port: number
  readonly member: NodeIdentity
}

interface Attack {
  readonly proof?: string
  readonly signer?: NodeIdentity
  readonly body?: string
  readonly sentBody?: string
  readonly sentAs?: Partial<MeshEnvelope>
}

const MAX_BODY_BYTES = 262_144

export function meshAttacks(
  name: string,
  settings: () => Promise<{ readonly mesh: string; readonly open: (victim: Victim) => Promise<AttackWire> }>,
  more?: (attacker: () => Attacker) => void,
): void {
  describe(`a mesh gateway under attack over ${name}`, () => {
    let wire: AttackWire
    let victim: MeshNode
    let community: string
    let port: number
    let member: NodeIdentity
    let session: MeshSession
    let hashes: ReadonlyMap<string, string>
    const stranger = identityOf(99)

    beforeAll(async () => {
      const { mesh, open } = await settings()
      const home = meshHome('victim', { mesh: `  maxBodyBytes: ${MAX_BODY_BYTES}\n${mesh}` })
      cli(home, 'mesh', 'init')
      victim = await startNode('victim', home)
      const lowly = meshHome('lowly', { mesh })
      cli(lowly, 'mesh', 'join', invite(home, 'member'))
      member = deriveNodeIdentity(createPrivateKey(readFileSync(join(lowly.data, 'keys', 'node.key'))))
      lowly.remove()
      community = String(cli(home, 'mesh', 'members')['community'])
      const { mesh: state } = (await victim.say({ do: 'stats' })) as { mesh?: { port: number } }
      port = state?.port ?? 0
      wire = await open({ node: victim, community, port, member })
      session = await handshake(member)
      hashes = await schemaHashes()
    })

    afterAll(async () => {
      await wire.close()
      await closeAll([victim])
    })

    it('answers a correct request of a member', async () => {
      expect(await attack({})).toBe('200')
    })

    it('refuses a request without a signature', async () => {
      expect(await attack({}, { proof: '' })).toBe('401 invalid_signature')
    })

    it('refuses a request signed with another node’s key', async () => {
      expect(await attack({}, { signer: stranger })).toBe('401 invalid_signature')
    })

    it('refuses a request addressed to another node', async () => {
      expect(await attack({ to: stranger.id })).toBe('401 invalid_signature')
    })

    it('refuses a repeated request id, signed or with a session key', async () => {
      const again = { requestId: newUlid() }
      expect([await attack(again), await attack(again)]).toEqual(['200', '410 expired'])
      const signed = { requestId: newUlid() }
      expect([await attack(signed, { signer: member }), await attack(signed, { signer: member })]).toEqual([
        '200',
        '410 expired',
      ])
    })

    it('refuses a call whose timestamp is two minutes old', async () => {
      expect(await attack({ timestamp: formatMeshTime(Date.now() - 120_000) })).toBe('410 expired')
    })

    it('refuses a correctly signed request of a non-member', async () => {
      expect(await attack({ from: stranger.id }, { signer: stranger })).toBe('401 unauthorized')
    })

    it('refuses a body that was changed in transit', async () => {
      expect(await attack({}, { sentBody: '{"x":2}' })).toBe('401 invalid_signature')
    })

    it('refuses a capability name that was changed in transit', async () => {
      expect(await attack({}, { sentAs: { capability: 'test.write' } })).toBe('401 invalid_signature')
    })

    it('refuses an actor that differs from the one in the signature or MAC', async () => {
      const refused = '401 invalid_signature'
      for (const how of [{}, { signer: member }]) {
        expect(await attack({ actor: 'claude' }, how)).toBe('200')
        expect(await attack({ actor: 'claude' }, { ...how, sentAs: { actor: 'gpt' } })).toBe(refused)
        expect(await attack({ actor: 'claude' }, { ...how, sentAs: { actor: undefined } })).toBe(refused)
        expect(await attack({}, { ...how, sentAs: { actor: 'owner' } })).toBe(refused)
      }
    })

    it('refuses an invalid actor, and grants nothing to one named like an owner or service', async () => {
      for (const actor of ['', 'a b', '/owner', 'claude, gpt', '<b>', 'x'.repeat(129)])
        expect(await attack({ actor }, { signer: member })).toBe('400 bad_request')
      expect(await attack({ actor: 'x'.repeat(128) })).toBe('200')
      for (const actor of ['owner', 'console', 'service:x', victim.nodeId, `peer:${victim.nodeId}`])
        expect(await attack({ capability: 'test.write', actor }, { signer: member })).toBe('401 unauthorized')
    })

    it('records the actor behind the member that names it', async () => {
      const asked = async (actor: string | undefined): Promise<string> => {
        const traceId = newUlid()
        await attack({ actor, traceparent: createTraceparentWithNewSpan(traceId) })
        return callerIn(victim, traceId)
      }
      expect(await asked('claude')).toBe(`peer:${member.id}/claude`)
      expect(await asked('peer:x/owner')).toBe(`peer:${member.id}/peer:x/owner`)
      expect(await asked(undefined)).toBe(`peer:${member.id}`)
    })

    it('refuses a body over the limit, and one that is not an object', async () => {
      expect(await attack({}, { body: JSON.stringify({ x: 'x'.repeat(MAX_BODY_BYTES) }) })).toBe('413 bad_request')
      expect(await attack({}, { body: '[1]' })).toBe('400 bad_request')
      expect(await attack({}, { body: '{"x":' })).toBe('400 bad_request')
      expect(await attack({}, { body: `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}` })).not.toMatch(/^5/)
    })

    it('refuses a request for another community', async () => {
      expect(await attack({ community: stranger.id })).toBe('401 unauthorized')
    })

    it('refuses another schema hash than its own', async () => {
      expect(await attack({ schemaHash: `blake3:${'0'.repeat(64)}` })).toBe('400 schema_mismatch')
    })

    it('refuses a write proven by a session key only', async () => {
      expect(await attack({ capability: 'test.write' })).toBe('401 invalid_signature')
    })

    it('refuses a write by a member without the required trust', async () => {
      expect(await attack({ capability: 'test.write' }, { signer: member })).toBe('401 unauthorized')
    })

    it('records refusals of member requests, and nothing of unproven ones', async () => {
      const recorded = async (change: Partial<MeshEnvelope>, how: Attack = {}): Promise<readonly unknown[]> => {
        const traceId = newUlid()
        await attack({ ...change, traceparent: createTraceparentWithNewSpan(traceId) }, how)
        return ledgered(victim, traceId)
      }
      const write = { capability: 'test.write' }
      expect(await recorded({})).toEqual(['call.enter', 'call.exit ok'])
      expect(await recorded(write, { signer: member })).toEqual(['call.enter', 'call.exit not-permitted'])
      expect(await recorded(write)).toEqual(['call.enter', 'call.exit invalid_signature'])
      expect(await recorded({ schemaHash: `blake3:${'0'.repeat(64)}` })).toEqual([
        'call.enter',
        'call.exit schema_mismatch',
      ])
      expect(await recorded({}, { proof: '' })).toEqual([])
      expect(await recorded({ from: stranger.id }, { signer: stranger })).toEqual([])
    })

    it('refuses a community request of a non-member', async () => {
      expect(
        await attack({ from: stranger.id, capability: 'mesh.community', keyId: undefined }, { signer: stranger }),
      ).toBe('401 unauthorized')
    })

    it('refuses a malformed envelope', async () => {
      for (const broken of [{ requestId: 'x' }, { from: 'me' }, { capability: '../../etc' }, { timestamp: 'now' }])
        expect(await attack(broken)).toBe('400 bad_request')
    })

    packetAttacks(() => ({ wire, session, victim, hashes }))

    more?.(() => ({ port, member, stranger }))

    // Last: there is no way back from it.
    it('refuses a revoked node with its former key', async () => {
      cli(victim.home, 'mesh', 'revoke', 'lowly')
      await until('the gateway has noticed', async () => (await attack({})) !== '200')
      expect(await attack({})).toBe('403 revoked')
      expect(await attack({}, { signer: member })).toBe('403 revoked')
      // Its session ended with it; a connection of its own is not even opened.
      const byPacket = attackByPacket({ wire, session, victim, hashes })
      expect(await byPacket.catch(({ message }: Error) => message)).toMatch(/^401( invalid_signature)?$/)
    })

    /** Status and code of the answer, which is the victim's own word whatever it says. */
    async function attack(change: Partial<MeshEnvelope>, how: Attack = {}): Promise<string> {
      const envelope = envelopeOf(change)
      const body = how.body ?? '{"x":1}'
      const text = formatCallTextToSign(toEnvelopeFields(envelope), computeBodyHash(body))
      const proof =
        how.proof ?? (how.signer === undefined ? createMacProof(text, session) : createSignatureProof(text, how.signer))
      const sent = toEnvelopeFields({ ...envelope, ...how.sentAs })
      const answered = await wire.post(sent, proof, how.sentBody ?? body)
      const { error } = JSON.parse(answered.text) as { readonly error?: string }
      const covered = formatAnswerTextToSign({
        requestId: envelope.requestId,
        from: victim.nodeId,
        status: answered.status,
        bodyHash: computeBodyHash(answered.text),
      })
      expect(isMessageProofValid(covered, answered.proof, { from: victim.nodeId, session })).toBe(true)
      return answered.status === 200 ? '200' : `${answered.status} ${error}`
    }

    function envelopeOf(change: Partial<MeshEnvelope>): MeshEnvelope {
      return {
        capability: 'test.echo',
        version: [1, 0],
        requestId: newUlid(),
        from: member.id,
        to: victim.nodeId,
        community,
        timestamp: formatMeshTime(Date.now()),
        deadlineMs: 10_000,
        keyId: session?.id,
        session: undefined,
        hops: 0,
        stream: false,
        schemaHash: undefined,
        traceparent: undefined,
        ...change,
      }
    }

    async function schemaHashes(): Promise<ReadonlyMap<string, string>> {
      const envelope = envelopeOf({ capability: 'mesh.manifest' })
      const proof = createMacProof(formatCallTextToSign(toEnvelopeFields(envelope), computeBodyHash('{}')), session)
      const { text } = await wire.post(toEnvelopeFields(envelope), proof, '{}')
      const { data } = JSON.parse(text) as {
        readonly data: { readonly capabilities: readonly { readonly name: string; readonly schema_hash: string }[] }
      }
      return new Map(data.capabilities.map((capability) => [capability.name, capability.schema_hash]))
    }

    async function handshake(identity: NodeIdentity): Promise<MeshSession> {
      const offer = createSessionProposal()
      const envelope = envelopeOf({ capability: 'mesh.session', keyId: undefined })
      const body = JSON.stringify(offer.body)
      const proof = createSignatureProof(
        formatCallTextToSign(toEnvelopeFields(envelope), computeBodyHash(body)),
        identity,
      )
      const { text } = await wire.post(toEnvelopeFields(envelope), proof, body)
      const { data } = JSON.parse(text) as { readonly data: Parameters<typeof completeSessionFromAnswer>[1] }
      const taken = completeSessionFromAnswer(offer, data, { self: identity.id, peer: victim.nodeId, nowMs: 0 })
      if (taken === undefined) throw new Error(text)
      return taken
    }
  })
}

/** For what only one wire has. */
export interface Attacker {
  readonly port: number
  readonly member: NodeIdentity
  readonly stranger: NodeIdentity
}
