import { generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantTasks } from '../../../test/planted-task.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import type { Caller } from '../../bus/call.ts'
import type { JsonObject } from '../../core/json.ts'
import { encodeThoughtToSign } from './thought.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
  await plantTasks(rig, 'T-1')
})
afterEach(() => rig.close())

const OWNER: Caller = { kind: 'principal', id: 'owner', role: 'admin' }

interface Pair {
  readonly publicKey: string
  readonly secret: KeyObject
}

function keyPair(): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return { publicKey: Buffer.from(x, 'base64url').toString('base64'), secret: privateKey }
}

function thought(content: string, pair?: Pair): JsonObject {
  const statement = { agent_id: 'ada', content, task_id: 'T-1', type: 'plan' } as const
  if (pair === undefined) return statement
  const value = sign(null, encodeThoughtToSign(statement), pair.secret).toString('base64')
  return { ...statement, signature: { public_key: pair.publicKey, value } }
}

const setKey = (publicKey: string | null, caller: Caller = OWNER) =>
  rig.through('agent_key_set', { agent_id: 'ada', public_key: publicKey, reason: 'The key was lost.' }, { caller })

describe('agent key', () => {
  it('blocks unsigned records until an admin removes it, and afterwards no key can be claimed again', async () => {
    const thrownAway = keyPair()
    await rig.data('thought_record', thought('Squatted.', thrownAway))
    expect(await rig.error('thought_record', thought('Locked out.'))).toMatchObject({
      message: expect.stringMatching(/^ERR_SIGNATURE_INVALID: /),
    })
    expect(await setKey(null)).toMatchObject({ ok: true, value: { data: { public_key: null, given_by_person: true } } })
    await rig.data('thought_record', thought('Back again.'))
    // Neither the old key nor another one locks the name a second time.
    for (const pair of [thrownAway, keyPair()])
      expect(await rig.error('thought_record', thought('Mine!', pair))).toMatchObject({
        message: expect.stringContaining('only a person gives it another'),
      })
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, record_count: 2 })
  })

  it('can be replaced by an admin: the new key signs, the old one is refused', async () => {
    const [old, fresh] = [keyPair(), keyPair()]
    await rig.data('thought_record', thought('First.', old))
    expect(await setKey(fresh.publicKey)).toMatchObject({ ok: true })
    expect(await rig.error('thought_record', thought('Second.', old))).toMatchObject({ code: 'HANDLER_ERROR' })
    expect(await rig.error('thought_record', thought('Second.'))).toMatchObject({ code: 'HANDLER_ERROR' })
    expect(await rig.data('thought_record', thought('Second.', fresh))).toMatchObject({ signed: true })
    const listed = await rig.through('agent_key_list', {}, { caller: OWNER })
    expect(listed).toMatchObject({ value: { data: { agents: [{ agent_id: 'ada', public_key: fresh.publicKey }] } } })
    const [entry] = rig.entries('agent.key')
    expect(entry).toMatchObject({ agent_id: 'ada', by: 'owner', previous_key: old.publicKey })
    expect(rig.ledger.body(Number(entry?.['seq']))).toMatchObject({ body: { reason: 'The key was lost.' } })
  })

  it('can be set only by an admin, and the ledger enforces it', async () => {
    for (const role of ['agent', 'observer', 'approver'] as const)
      for (const name of ['agent_key_set', 'agent_key_list'])
        expect(
          await rig.through(name, name === 'agent_key_set' ? { agent_id: 'ada', public_key: null, reason: 'x' } : {}, {
            caller: { kind: 'principal', id: role, role },
          }),
        ).toMatchObject({ ok: false, fault: { kind: 'not-permitted' } })
    const entry = { kind: 'agent.key', agent_id: 'ada', by: 'mallory' }
    await expect(rig.ledger.append(entry)).rejects.toThrow('mallory was not an admin')
    expect(rig.entries('agent.key')).toEqual([])
  })

  it.each([
    ['no point of the curve', Buffer.alloc(32, 2)],
    ['of small order', Buffer.concat([Buffer.of(1), Buffer.alloc(31)])],
  ])('is refused when it is %s', async (_, bytes) => {
    expect(await setKey(bytes.toString('base64'))).toMatchObject({ ok: false, fault: { code: 'INVALID_KEY' } })
  })
})
