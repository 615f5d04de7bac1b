import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantTasks } from '../../../test/planted-task.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { runtimeSteps } from '../../../test/runtime-steps.ts'
import type { JsonObject } from '../../core/json.ts'
import { encodeThoughtToSign, computeThoughtHash } from './thought.ts'
import type { ThoughtToSign } from './thought.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
  await plantTasks(rig, 'T-1', 'T-2')
})
afterEach(() => rig.close())

const { think, startSession } = runtimeSteps(() => rig)

describe('thought_record', () => {
  it('hashes exactly the six fields of the published formula', () => {
    const record = {
      id: '6f1c1f0e-8e0c-4d56-9a3e-3f6c7d1f2a10',
      type: 'plan' as const,
      task_id: 'T-1',
      content: 'Öffne das Ventil',
      timestamp: '2026-01-01T00:00:00.000Z',
      prev_hash: '0'.repeat(64),
    }
    // SHA-256 of the sorted, spaceless JSON in UTF-8, computed with Python's hashlib.
    expect(computeThoughtHash(record)).toBe('5f0fd7681cf9dec301e51d8527aff3b8b123a308b0b1bb2f3166d2ad8282b776')
  })

  it('chains the records of each task separately, starting from 64 zeros', async () => {
    const one = await think('T-1')
    const other = await think('T-2')
    const two = await think('T-1', { type: 'decision', content: 'Downstairs.' })
    expect(one).toMatchObject({ prev_hash: '0'.repeat(64), session_id: null, recorded_by: 'tester', signed: false })
    expect(other['prev_hash']).toBe('0'.repeat(64))
    expect(two['prev_hash']).toBe(one['hash'])
    expect(two['log_index']).toBe(4)
  })

  it('commits to the whole record in the ledger without its content in clear text', async () => {
    const session = await startSession()
    const thought = await think('T-1', { session_id: session, content: 'The key is under the mat.' })
    const [entry] = rig.entries('thought')
    expect(entry).toMatchObject({
      id: thought['id'],
      agent_id: 'ada',
      session_id: session,
      hash: thought['hash'],
      prev_hash: thought['prev_hash'],
      principal: 'tester',
      body_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(JSON.stringify(entry)).not.toContain('mat')
    const stored = rig.ledger.entry(Number(thought['log_index']))
    const leaf = createHash('sha256').update(Buffer.concat([Buffer.of(0), stored?.bytes ?? Buffer.of()]))
    expect(thought['leaf_hash']).toBe(leaf.digest('hex'))
  })

  it('refuses empty, oversized or malformed content, other types and unknown arguments', async () => {
    const good = { type: 'plan', task_id: 'T-1', agent_id: 'ada', content: 'x' }
    for (const bad of [
      { content: '' },
      { content: 'x'.repeat(32_001) },
      { content: '\udfff' },
      { type: 'observation' },
      { task_id: '' },
      { mood: 'fine' },
    ])
      expect(await rig.answer('thought_record', { ...good, ...bad })).toMatchObject({
        isError: true,
        structured: { ok: false, error: { code: 'INVALID_PARAMS' } },
      })
    const { details } = await rig.error('thought_record', { ...good, content: '' })
    expect(details).toMatchObject({ issues: [{ message: 'thought content must be non-empty' }] })
  })

  it('never dates a record earlier than the preceding one', async () => {
    await think('T-1')
    rig.clock.advance(-1_000)
    expect(await think('T-1')).toMatchObject({ timestamp: '2026-01-01T00:00:00.000Z' })
  })
})

describe('the session of a thought', () => {
  it('defaults to the open session of its task', async () => {
    const session = await startSession('T-1')
    expect(await think('T-1')).toMatchObject({ session_id: session })
    expect(await think('T-2')).toMatchObject({ session_id: null })
  })

  it('must exist', async () => {
    expect(
      await rig.answer('thought_record', {
        type: 'plan',
        task_id: 'T-1',
        agent_id: 'ada',
        content: 'x',
        session_id: 'mine',
      }),
    ).toEqual({
      structured: {
        ok: false,
        error: {
          code: 'HANDLER_ERROR',
          message: 'ERR_SESSION_NOT_FOUND: There is no session mine; audit_session_start begins one.',
          details: { code: 'ERR_SESSION_NOT_FOUND', session_id: 'mine' },
        },
      },
      isError: true,
    })
    expect(rig.entries('thought')).toEqual([])
  })

  it('must be open: a finalized session is refused, also by the ledger', async () => {
    const session = await startSession()
    await think('T-1', { session_id: session })
    await rig.data('merkle_finalize', { session_id: session })
    const late = { type: 'plan', task_id: 'T-1', agent_id: 'ada', content: 'late', session_id: session }
    expect(await rig.error('thought_record', late)).toMatchObject({ details: { code: 'ERR_SESSION_CLOSED' } })
    const [{ v: _v, seq: _seq, at: _at, body_hash: _hash, ...thought } = {}] = rig.entries('thought')
    const again = { ...thought, kind: 'thought', prev_hash: thought['hash'] ?? '' }
    await expect(rig.ledger.append(again)).rejects.toThrow(`session ${session} was not open`)
  })

  it('must be given when the task has several open sessions', async () => {
    const sessions = [await startSession('T-1'), await startSession('T-1')]
    const thought = { type: 'plan', task_id: 'T-1', agent_id: 'ada', content: 'x' }
    expect(await rig.error('thought_record', thought)).toMatchObject({
      details: { code: 'ERR_SESSION_AMBIGUOUS', session_ids: sessions },
    })
    expect(await think('T-1', { session_id: String(sessions[1]) })).toMatchObject({ session_id: sessions[1] })
  })

  it('stays consistent when records and a finalize arrive at the same moment', async () => {
    const session = await startSession()
    await think('T-1', { session_id: session })
    const thought = { type: 'plan', task_id: 'T-1', agent_id: 'ada', content: 'x', session_id: session }
    const answers = await Promise.all([
      rig.answer('thought_record', thought),
      rig.answer('merkle_finalize', { session_id: session }),
      rig.answer('thought_record', thought),
      rig.answer('thought_record', thought),
    ])
    const recorded = answers.filter(
      ({ structured }) => structured.data?.['log_index'] !== undefined && 'hash' in structured.data,
    )
    const root = await rig.data('merkle_root', { session_id: session })
    expect(root['record_count']).toBe(1 + recorded.length)
    const { records } = await rig.data('thought_record_list', { session_id: session })
    expect(records).toHaveLength(Number(root['record_count']))
  })
})

describe('authorship of a thought', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const other = generateKeyPairSync('ed25519')
  const statement: ThoughtToSign = { agent_id: 'ada', content: 'I checked it.', task_id: 'T-1', type: 'reflection' }

  function signed(
    words: ThoughtToSign,
    keys = { privateKey, publicKey },
  ): JsonObject & { readonly signature: { readonly public_key: string; readonly value: string } } {
    const public_key = Buffer.from(keys.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')
    const value = sign(null, encodeThoughtToSign(words), keys.privateKey).toString('base64')
    return { ...words, signature: { public_key, value } }
  }

  it('is proved by a signature over the thought', async () => {
    expect(await rig.data('thought_record', signed(statement))).toMatchObject({ signed: true })
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true, record_count: 1 })
  })

  it('cannot be claimed without a fresh signature once the agent has a key', async () => {
    await rig.data('thought_record', signed(statement))
    for (const attempt of [
      { ...statement, content: 'unsigned' } as JsonObject,
      signed({ ...statement, content: 'mine' }, other),
      { ...signed(statement), content: 'other words' },
    ])
      expect(await rig.error('thought_record', attempt)).toMatchObject({
        details: { code: 'ERR_SIGNATURE_INVALID' },
      })
    expect(await rig.error('thought_record', signed(statement))).toMatchObject({
      details: { code: 'ERR_SIGNATURE_REPLAYED' },
    })
    expect(rig.entries('thought')).toHaveLength(1)
  })

  it('is verified again by audit_verify_chain', async () => {
    await rig.data('thought_record', signed(statement))
    const other = signed({ ...statement, content: 'other' })
    rig.tamper(`UPDATE thought_records SET signature = '${other.signature.value}'`)
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: false, broken_count: 1 })
  })
})

describe('thought_record_list', () => {
  it('refuses an unknown task and an unknown session instead of an empty list', async () => {
    const rig = await runtimeRig()
    for (const [filter, code] of [
      [{ task_id: 'nope' }, 'ERR_NOT_FOUND'],
      [{ session_id: 'nope' }, 'ERR_SESSION_NOT_FOUND'],
    ] as const) {
      const outcome = await rig.through('thought_record_list', filter)
      expect(outcome.ok ? '' : outcome.fault.code).toBe(code)
    }
    rig.close()
  })

  it('lists in the order of recording and filters by task, session, agent, type and time', async () => {
    const session = await startSession()
    const { unsealed: _, ...first } = await think('T-1')
    rig.clock.advance(1_000)
    const second = await think('T-2', { agent_id: 'bob', type: 'decision', session_id: session })
    const all = await rig.data('thought_record_list')
    expect(all).toEqual({ records: [first, second] })
    for (const filter of [
      { task_id: 'T-2' },
      { session_id: session },
      { agent_id: 'bob' },
      { type: 'decision' },
      { since: '2026-01-01T00:00:01Z' },
    ])
      expect(await rig.data('thought_record_list', filter)).toEqual({ records: [second] })
    expect(await rig.data('thought_record_list', { until: '2026-01-01T00:00:01Z' })).toEqual({ records: [first] })
  })

  it('pages with a cursor', async () => {
    const ids = [await think('T-1'), await think('T-1'), await think('T-1')].map(({ id }) => id)
    const first = await rig.data('thought_record_list', { task_id: 'T-1', limit: 2 })
    const second = await rig.data('thought_record_list', {
      task_id: 'T-1',
      limit: 2,
      cursor: String(first['next_cursor']),
    })
    const seen = [first, second].flatMap((page) => page['records'] as { id: string }[])
    expect(seen.map(({ id }) => id)).toEqual(ids)
    expect(second).not.toHaveProperty('next_cursor')
  })

  it('ends a page early when the thoughts are long', async () => {
    for (let count = 0; count < 9; count++) await think('T-1', { content: 'x'.repeat(32_000) })
    const first = await rig.data('thought_record_list')
    expect(first['records']).toHaveLength(7)
    const second = await rig.data('thought_record_list', { cursor: String(first['next_cursor']) })
    expect(second['records']).toHaveLength(2)
  })

  it('lists an erased thought with its hashes and without its content', async () => {
    const { unsealed: _, ...thought } = await think('T-1')
    await rig.ledger.eraseBody(Number(thought['log_index']))
    expect(await rig.data('thought_record_list')).toEqual({ records: [{ ...thought, content: null }] })
  })
})
