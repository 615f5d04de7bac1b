/**
 * Mesh packet attacks: the same member, with packets. What a packet may carry is less than a message may, and what is
 * wrong with it has to be refused no less.
 */
import { expect, it } from 'vitest'
import { newUlid } from '../src/core/ids.ts'
import type { Json } from '../src/core/json.ts'
import { isNodeSignatureValid } from '../src/mesh/identity/node-key.ts'
import { formatPacketHeaderToSign, decodePacket, encodePacket } from '../src/mesh/packets/packet.ts'
import { matchesExpectedPacketProof, computeSessionPacketProof } from '../src/mesh/packets/packet-proof.ts'
import type { MeshSession } from '../src/mesh/sessions.ts'
import { callerIn, ledgered } from './mesh-attack-wire.ts'
import type { AttackWire } from './mesh-attack-wire.ts'
import type { MeshNode } from './mesh-house.ts'

export interface PacketAttacker {
  readonly wire: AttackWire
  readonly session: MeshSession
  readonly victim: MeshNode
  /** Of what the victim offers, by name. */
  readonly hashes: ReadonlyMap<string, string>
}

interface PacketAttack {
  readonly capability?: string
  readonly schemaHash?: string
  readonly body?: Json
  readonly sentMs?: number
  readonly traceId?: string
  readonly actor?: Json
  /** Instead of the next one. */
  readonly number?: number
  readonly keyId?: string
  readonly proof?: string
  readonly meddle?: (packet: string) => string
}

let last = 0

/** Status and code of the answer, which is the victim's own word whatever it says. */
export async function attackByPacket(attacker: PacketAttacker, how: PacketAttack = {}): Promise<string> {
  const { wire, session, victim, hashes } = attacker
  const { capability = 'test.echo', body = { x: 1 }, sentMs = Date.now(), traceId = newUlid() } = how
  const contract = [capability, 1, 0, how.schemaHash ?? hashes.get(capability) ?? '']
  const call = [contract, 10_000, 0, traceId, '00000000000000ff', null, body]
  const payload = JSON.stringify([sentMs, how.actor === undefined ? call : [...call, how.actor]])
  const keyId = how.keyId ?? session.id
  const covered = formatPacketHeaderToSign({ kind: 'call', keyId, first: how.number ?? ++last, count: 1 })
  const packet = encodePacket(
    covered,
    how.proof ?? computeSessionPacketProof('call', covered, payload, session),
    payload,
  )
  const answered = decodePacket(await wire.packet(how.meddle?.(packet) ?? packet))
  const text = answered?.payload ?? ''
  if (answered?.head.kind === 'refusal') {
    expect(isNodeSignatureValid(victim.nodeId, `packet ${answered.covered}${text}`, answered.proof)).toBe(true)
    return verdict(JSON.parse(text) as readonly [number, Body])
  }
  expect(answered !== undefined && matchesExpectedPacketProof('answer', answered, session)).toBe(true)
  const [[, ...answer] = []] = JSON.parse(text) as readonly (readonly [number, number, Body])[]
  return verdict(answer as unknown as readonly [number, Body])
}

interface Body {
  readonly error?: string
}

function verdict([status, { error }]: readonly [number, Body]): string {
  return status === 200 ? '200' : `${status} ${error}`
}

export function packetAttacks(attacker: () => PacketAttacker): void {
  const attack = (how?: PacketAttack): Promise<string> => attackByPacket(attacker(), how)

  it('packets: answers a correct packet of a member', async () => {
    expect(await attack()).toBe('200')
  })

  it('packets: refuses a packet without a valid MAC, or one changed in transit', async () => {
    const refused = '401 invalid_signature'
    expect(await attack({ proof: '' })).toBe(refused)
    expect(await attack({ proof: `hmac-sha256:${'A'.repeat(43)}` })).toBe(refused)
    expect(await attack({ proof: `token:${'A'.repeat(43)}` })).toBe(refused)
    expect(await attack({ meddle: (packet) => packet.replace('"x":1', '"x":2') })).toBe(refused)
    expect(await attack({ meddle: (packet) => packet.replace(/ (\d+) 1 /, ' 9$1 1 ') })).toBe(refused)
  })

  it('packets: refuses an unknown session id', async () => {
    expect(await attack({ keyId: 'A'.repeat(22) })).toBe('401 invalid_signature')
  })

  it('packets: refuses a repeated packet number', async () => {
    const number = ++last
    expect([await attack({ number }), await attack({ number, body: { x: 2 } })]).toEqual(['200', '410 expired'])
  })

  it('packets: refuses a timestamp two minutes in the past or future', async () => {
    expect(await attack({ sentMs: Date.now() - 120_000 })).toBe('410 expired')
    expect(await attack({ sentMs: Date.now() + 120_000 })).toBe('410 expired')
  })

  it('packets: refuses another schema hash, and a malformed call', async () => {
    expect(await attack({ schemaHash: `blake3:${'0'.repeat(64)}` })).toBe('400 schema_mismatch')
    expect(await attack({ capability: '../../etc' })).toBe('400 bad_request')
    expect(await attack({ body: [1] })).toBe('400 bad_request')
    expect(await attack({ traceId: 'x' })).toBe('400 bad_request')
  })

  it('packets: refuses a write, which needs a signature, and records the refusal', async () => {
    const traceId = newUlid()
    expect(await attack({ capability: 'test.write', traceId })).toBe('401 invalid_signature')
    expect(await ledgered(attacker().victim, traceId)).toEqual(['call.enter', 'call.exit invalid_signature'])
  })

  it('packets: refuses an actor that was changed in transit, or is invalid', async () => {
    const meddle = (from: string, to: string) => ({ meddle: (packet: string) => packet.replace(from, to) })
    const refused = '401 invalid_signature'
    expect(await attack({ actor: 'claude', ...meddle('"claude"', '"gpt"') })).toBe(refused)
    expect(await attack({ actor: 'claude', ...meddle(',"claude"', '') })).toBe(refused)
    expect(await attack({ ...meddle('{"x":1}', '{"x":1},"owner"') })).toBe(refused)
    for (const actor of ['', 'a b', '/owner', 'x'.repeat(129), null, 7, ['claude']])
      expect(await attack({ actor })).toBe('400 bad_request')
  })

  it('packets: records the actor that a packet names', async () => {
    const { victim, session } = attacker()
    const asked = async (actor?: string): Promise<string> => {
      const traceId = newUlid()
      await attack({ traceId, ...(actor === undefined ? {} : { actor }) })
      return (await callerIn(victim, traceId)).replace(/^peer:ed25519:[A-Za-z0-9_-]{43}/, 'the member')
    }
    expect(session.takesActors).toBe(true)
    expect([await asked('claude'), await asked()]).toEqual(['the member/claude', 'the member'])
  })

  it('packets: still answers after all attacks', async () => {
    expect(await attack()).toBe('200')
  })
}
