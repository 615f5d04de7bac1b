import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPrivateKey } from 'node:crypto'
import { ulid } from '../../src/core/ids.ts'
import { bodyHash, callText, envelopeFields } from '../../src/mesh/envelope.ts'
import type { Envelope } from '../../src/mesh/envelope.ts'
import { headersOf } from '../../src/mesh/http/headers.ts'
import { nodeCertificate } from '../../src/mesh/identity/certificate.ts'
import { nodeIdentity } from '../../src/mesh/identity/node-key.ts'
import type { NodeIdentity } from '../../src/mesh/identity/node-key.ts'
import { timeText } from '../../src/mesh/identity/time.ts'
import { macProof, signatureProof } from '../../src/mesh/proof.ts'
import { offerSession, takeSession } from '../../src/mesh/sessions.ts'
import type { Session } from '../../src/mesh/sessions.ts'
import { cli, closeAll, invite, meshHome, startNode, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { identityOf } from '../mesh-keys.ts'

/** A member that has turned against its community: it has a good key and says what it likes. */
describe('a gateway, attacked at its mesh listener', () => {
  let victim: MeshNode
  let port: number
  let community: string
  let member: NodeIdentity
  let session: Session
  const stranger = identityOf(99)

  beforeAll(async () => {
    const home = meshHome('victim')
    cli(home, 'mesh', 'init')
    victim = await startNode('victim', home)
    const lowly = meshHome('lowly')
    cli(lowly, 'mesh', 'join', invite(home, 'member'))
    member = nodeIdentity(createPrivateKey(readFileSync(join(lowly.data, 'keys', 'node.key'))))
    lowly.remove()
    community = String(cli(home, 'mesh', 'members')['community'])
    const { mesh } = (await victim.say({ do: 'stats' })) as { mesh?: { port: number } }
    port = mesh?.port ?? 0
    session = await handshake(member)
  })

  afterAll(() => closeAll([victim]))

  it('answers the member that behaves', async () => {
    expect(await attack({})).toBe('200')
  })

  it('refuses what is unsigned', async () => {
    expect(await attack({}, { proof: '' })).toBe('401 invalid_signature')
  })

  it('refuses what somebody else signed', async () => {
    expect(await attack({}, { signer: stranger })).toBe('401 invalid_signature')
  })

  it('refuses what is for another node', async () => {
    expect(await attack({ to: stranger.id })).toBe('401 invalid_signature')
  })

  it('refuses the same message a second time, signed or not', async () => {
    const again = { requestId: ulid() }
    expect([await attack(again), await attack(again)]).toEqual(['200', '410 expired'])
    const signed = { requestId: ulid() }
    expect([await attack(signed, { signer: member }), await attack(signed, { signer: member })]).toEqual([
      '200',
      '410 expired',
    ])
  })

  it('refuses what is two minutes old', async () => {
    expect(await attack({ timestamp: timeText(Date.now() - 120_000) })).toBe('410 expired')
  })

  it('refuses a stranger, however well it signs', async () => {
    expect(await attack({ from: stranger.id }, { signer: stranger })).toBe('401 unauthorized')
  })

  it('refuses a body that was changed on its way', async () => {
    expect(await attack({}, { sentBody: '{"x":2}' })).toBe('401 invalid_signature')
  })

  it('refuses a capability that was exchanged on its way', async () => {
    expect(await attack({}, { sentAs: { capability: 'test.write' } })).toBe('401 invalid_signature')
  })

  it('refuses a body that is too large, and one that is no object', async () => {
    expect(await attack({}, { body: JSON.stringify({ x: 'x'.repeat(1_100_000) }) })).toBe('413 bad_request')
    expect(await attack({}, { body: '[1]' })).toBe('400 bad_request')
    expect(await attack({}, { body: '{"x":' })).toBe('400 bad_request')
    expect(await attack({}, { body: `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}` })).not.toMatch(/^5/)
  })

  it('refuses another community', async () => {
    expect(await attack({ community: stranger.id })).toBe('401 unauthorized')
  })

  it('refuses another contract than its own', async () => {
    expect(await attack({ schemaHash: `blake3:${'0'.repeat(64)}` })).toBe('400 schema_mismatch')
  })

  it('refuses a change that only a session key vouches for', async () => {
    expect(await attack({ capability: 'test.write' })).toBe('401 invalid_signature')
  })

  it('refuses a change by a member that is not trusted with it', async () => {
    expect(await attack({ capability: 'test.write' }, { signer: member })).toBe('401 unauthorized')
  })

  it('refuses a question about the community from outside it', async () => {
    expect(
      await attack({ from: stranger.id, capability: 'mesh.community', keyId: undefined }, { signer: stranger }),
    ).toBe('401 unauthorized')
    expect(await get('/manifest', stranger)).toBe(401)
    expect(await get('/community/manifest', stranger)).toBe(401)
    expect(await get('/manifest', member)).toBe(200)
    expect(await get('/health', undefined)).toBe(200)
  })

  it('refuses an envelope that is none', async () => {
    for (const broken of [{ requestId: 'x' }, { from: 'me' }, { capability: '../../etc' }, { timestamp: 'now' }])
      expect(await attack(broken)).toBe('400 bad_request')
  })

  // Last: there is no way back from it.
  it('refuses a node that was revoked, with the key it had', async () => {
    cli(victim.home, 'mesh', 'revoke', 'lowly')
    await until('the gateway has noticed', async () => (await attack({})) !== '200')
    expect(await attack({})).toBe('403 revoked')
    expect(await attack({}, { signer: member })).toBe('403 revoked')
  })

  interface Attack {
    readonly proof?: string
    readonly signer?: NodeIdentity
    readonly body?: string
    readonly sentBody?: string
    readonly sentAs?: Partial<Envelope>
  }

  /** Status and code of the answer. */
  async function attack(change: Partial<Envelope>, how: Attack = {}): Promise<string> {
    const envelope = envelopeOf(change)
    const body = how.body ?? '{"x":1}'
    const text = callText(envelopeFields(envelope), bodyHash(body))
    const proof = how.proof ?? (how.signer === undefined ? macProof(text, session) : signatureProof(text, how.signer))
    const { status, answer } = await post({ ...envelope, ...how.sentAs }, proof, how.sentBody ?? body)
    return status === 200 ? '200' : `${status} ${String(answer['error'])}`
  }

  function envelopeOf(change: Partial<Envelope>): Envelope {
    return {
      capability: 'test.echo',
      version: [1, 0],
      requestId: ulid(),
      from: member.id,
      to: victim.nodeId,
      community,
      timestamp: timeText(Date.now()),
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

  async function handshake(identity: NodeIdentity): Promise<Session> {
    const offer = offerSession()
    const envelope = envelopeOf({ capability: 'mesh.session', keyId: undefined })
    const body = JSON.stringify(offer.body)
    const proof = signatureProof(callText(envelopeFields(envelope), bodyHash(body)), identity)
    const { answer } = await post(envelope, proof, body)
    const taken = takeSession(offer, answer['data'] as never, { self: identity.id, peer: victim.nodeId, nowMs: 0 })
    if (taken === undefined) throw new Error(JSON.stringify(answer))
    return taken
  }

  function post(
    envelope: Envelope,
    proof: string,
    body: string,
  ): Promise<{ status: number; answer: Record<string, unknown> }> {
    const headers = { ...headersOf(envelopeFields(envelope), proof), 'content-length': String(Buffer.byteLength(body)) }
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port,
          path: '/bus/v1/call',
          method: 'POST',
          headers,
          rejectUnauthorized: false,
          agent: false,
        },
        (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => (text += chunk.toString()))
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, answer: JSON.parse(text) as Record<string, unknown> }),
          )
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }

  function get(path: string, identity: NodeIdentity | undefined): Promise<number | undefined> {
    const tls = identity && {
      cert: nodeCertificate(identity),
      key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...tls }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
  }
})
