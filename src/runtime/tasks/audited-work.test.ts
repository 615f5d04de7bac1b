import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import { runtimeSteps } from '../../../test/runtime-steps.ts'
import type { Caller } from '../../bus/call.ts'
import type { JsonObject } from '../../core/json.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())
const { create, advance, finish, think, startSession } = runtimeSteps(() => rig)

const OWNER: Caller = { kind: 'principal', id: 'owner', role: 'admin' }
const REFLECTION = { agent_id: 'ada', content: 'It holds pressure.' }
const WHOLE_WAY = ['GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE'].map((status) => ({ status }))

describe('a closed task', () => {
  it.each([
    { title: 'Another' },
    { description: 'Another' },
    { depends_on: [] },
    { priority: 'high' },
    { assignee: 'bob' },
    { project_id: 'p' },
  ])('refuses a change of %o, and so does the ledger', async (patch) => {
    const done = await create()
    await finish(done)
    const cancelled = await create()
    await rig.data('task_update', { id: cancelled, status: 'CANCELLED', reason: 'It rains.' })
    for (const id of [done, cancelled]) {
      expect(await rig.error('task_update', { id, patch })).toMatchObject({ code: 'ERR_TASK_CLOSED', id })
      const { version, log_index: last } = await rig.data('task_get', { id })
      const change = { kind: 'task.changed', task_id: id, version: Number(version) + 1, fields: [] }
      await expect(rig.ledger.append({ ...change, previous_entry: Number(last) })).rejects.toThrow('does not change')
    }
  })

  it('lists the tasks that follow it', async () => {
    const first = await create()
    await finish(first)
    const second = await create({ title: 'Bleed them again', follows: first })
    expect(await rig.data('task_get', { id: second })).toMatchObject({ follows: first, followed_by: [] })
    expect(await rig.data('task_get', { id: first })).toMatchObject({ status: 'DONE', followed_by: [second] })
    expect(await rig.error('task_create', { title: 'x', follows: 'nope' })).toMatchObject({
      code: 'ERR_DEPENDENCY_NOT_FOUND',
      missing: ['nope'],
    })
  })
})

describe('several transitions or tasks in one call', () => {
  it('go from INIT to DONE with the reflection before DONE, each as a ledger entry of its own', async () => {
    const id = await create()
    const session = await startSession(id)
    const done = await rig.data('task_update', { id, transitions: WHOLE_WAY, reflection: REFLECTION })
    expect(done).toMatchObject({
      status: 'DONE',
      version: 7,
      reflection: { type: 'reflection', task_id: id, session_id: session, content: 'It holds pressure.' },
    })
    const kinds = rig.ledger.entries(0, rig.ledger.size()).map(({ entry }) => entry['to'] ?? entry.kind)
    expect(kinds).toEqual([
      'task.created',
      'session.start',
      'GATHER',
      'ANALYZE',
      'PLAN',
      'APPLY',
      'VERIFY',
      'thought',
      'DONE',
    ])
  })

  it('are recorded completely or not at all', async () => {
    const [id, other] = [await create(), await create()]
    const size = rig.ledger.size()
    for (const [change, code] of [
      [{ transitions: [{ status: 'GATHER' }, { status: 'PLAN' }] }, 'ERR_INVALID_TRANSITION'],
      [{ transitions: WHOLE_WAY }, 'ERR_WRITEBACK_REQUIRED'],
      [{ transitions: [{ status: 'GATHER' }, { status: 'CANCELLED' }] }, 'ERR_WRITEBACK_REQUIRED'],
      [{ transitions: WHOLE_WAY, reflection: REFLECTION, depends_on: [other] }, 'ERR_DEPENDENCY_UNFINISHED'],
      [{ transitions: WHOLE_WAY, reflection: { ...REFLECTION, session_id: 'nobody' } }, 'ERR_SESSION_NOT_FOUND'],
      [{ status: 'GATHER', transitions: [{ status: 'GATHER' }] }, 'INVALID_PARAMS'],
      [{ status: 'GATHER', reflection: REFLECTION }, 'INVALID_PARAMS'],
      [{ title: 'x', reflection: REFLECTION }, 'INVALID_PARAMS'],
    ] as const)
      expect(await rig.error('task_update', { id, ...change })).toMatchObject({ code })
    expect(rig.ledger.size()).toBe(size)
  })

  it('require a new reflection when VERIFY is entered again', async () => {
    const id = await create()
    await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
    await think(id, { type: 'reflection' })
    const again = [{ status: 'GATHER' }, ...WHOLE_WAY.slice(1)]
    expect(await rig.error('task_update', { id, transitions: again })).toMatchObject({ code: 'ERR_WRITEBACK_REQUIRED' })
    expect(await rig.data('task_update', { id, transitions: again, reflection: REFLECTION })).toMatchObject({
      status: 'DONE',
      attempt: 2,
    })
  })

  it('create tasks that depend on each other', async () => {
    const created = await rig.data('task_create', {
      title: 'Drain',
      more: [
        { title: 'Mend', depends_on: ['#0'] },
        { title: 'Fill', depends_on: ['#0', '#1'], priority: 'HIGH' },
      ],
    })
    const [mend, fill] = created['more'] as { id: string }[]
    expect(created).toMatchObject({ title: 'Drain', depends_on: [] })
    expect(mend).toMatchObject({ title: 'Mend', depends_on: [created['id']] })
    expect(fill).toMatchObject({ title: 'Fill', depends_on: [created['id'], mend?.id], priority: 'high' })
    const size = rig.ledger.size()
    for (const more of [[{ title: 'x', depends_on: ['#1'] }], [{ title: 'x' }, { title: 'y', depends_on: ['nope'] }]])
      await rig.error('task_create', { title: 'Drain', more })
    expect(rig.ledger.size()).toBe(size)
  })
})

describe('task priority', () => {
  it('is refused when it is not a known word or level', async () => {
    const id = await create()
    for (const priority of ['whenever', 'P10', 'constructor', '', 'p'])
      for (const [tool, args] of [
        ['task_create', { title: 'x', priority }],
        ['task_update', { id, priority }],
        ['task_update', { id, patch: { priority } }],
      ] as const)
        expect(await rig.error(tool, args)).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(await rig.data('task_update', { id, priority: ' p0 ' })).toMatchObject({ priority: 'P0' })
  })
})

describe('task_get with history and thoughts', () => {
  it('lists every transition with its reason, its caller and its client', async () => {
    const caller: Caller = { kind: 'principal', id: 'tester', role: 'agent', client: 'claude\u202e-code' }
    const id = String((await rig.data('task_create', { title: 'Bleed', assignee: 'ada' }, { caller }))['id'])
    await rig.data('task_update', { id, status: 'GATHER', reason: 'Parts came.' })
    await rig.data('task_update', { id, assignee: null, title: 'Bleed all' })
    await rig.data('task_update', { id, status: 'CANCELLED', reason: 'It rains.' })
    const { history, thoughts } = await rig.data('task_get', { id, include: ['history', 'thoughts'] })
    expect(thoughts).toEqual([])
    expect(history).toMatchObject([
      { change: 'created', version: 1, fields: ['title', 'assignee'], by: 'tester', log_index: 0 },
      { change: 'transition', from: 'INIT', to: 'GATHER', reason: 'Parts came.', client: null, version: 2 },
      { change: 'changed', fields: ['title'], emptied: ['assignee'], version: 3 },
      { change: 'transition', to: 'CANCELLED', reason: 'It rains.', version: 4, log_index: 3 },
    ])
    // Hidden characters of a stranger's name do not reach whoever reads the record.
    expect((history as { client: string }[])[0]?.client).not.toContain('\u202e')
    await rig.ledger.eraseBody(1)
    const erased = await rig.data('task_get', { id, include: ['history'] })
    expect((erased['history'] as JsonObject[])[1]).toMatchObject({ to: 'GATHER', reason: null })
  })

  it('lists 50 thoughts and gives a cursor for the rest', async () => {
    const id = await create()
    for (let count = 0; count < 51; count++) await think(id, { content: `${count}` })
    const { thoughts, thoughts_cursor: cursor } = await rig.data('task_get', { id, include: ['thoughts'] })
    expect(thoughts).toHaveLength(50)
    const rest = await rig.data('thought_record_list', { task_id: id, cursor: String(cursor) })
    expect(rest['records']).toMatchObject([{ content: '50' }])
  })
})

describe('task_get with changes', () => {
  it('lists the changes made by calls that named the task', async () => {
    const id = await create()
    const work = { taskId: id }
    await rig.through('agent_key_set', { agent_id: 'ada', public_key: null, reason: 'x' }, { work, caller: OWNER })
    await rig.through('agent_key_set', { agent_id: 'bob', public_key: null, reason: 'x' }, { caller: OWNER })
    const view = await rig.through('task_get', { id, include: ['changes'] }, { caller: OWNER })
    expect(view).toMatchObject({
      value: { data: { id, changes: [{ capability: 'agent_key_set', label: 'ada', result: 'done' }] } },
    })
  })
})

describe('an unknown task id', () => {
  it('is refused by every tool that takes one', async () => {
    const thought = { type: 'plan', task_id: 'nope', agent_id: 'ada', content: 'x' }
    expect(await rig.answer('thought_record', thought)).toMatchObject({
      isError: true,
      structured: { error: { code: 'HANDLER_ERROR', message: expect.stringMatching(/^ERR_NOT_FOUND: /) } },
    })
    expect(await rig.answer('audit_verify_chain', { task_id: 'nope' })).toMatchObject({
      isError: true,
      structured: { error: { code: 'HANDLER_ERROR', message: expect.stringMatching(/^ERR_NOT_FOUND: /) } },
    })
    expect(await rig.answer('audit_session_start', { intent: 'x', task_id: 'nope' })).toMatchObject({
      isError: false,
      structured: { data: { ok: false, error: { code: 'ERR_NOT_FOUND', task_id: 'nope' } } },
    })
    expect(rig.ledger.size()).toBe(0)
    await expect(rig.ledger.append({ kind: 'session.start', session_id: 's', task_id: 'nope' })).rejects.toThrow(
      'there is no task nope',
    )
  })
})

describe('records left out of a sealed session', () => {
  it('are reported when they are recorded, on a dry run of merkle_finalize, and when it seals', async () => {
    const id = await create()
    const early = await think(id)
    expect(early).toMatchObject({ session_id: null, unsealed: expect.stringContaining('no open session') })
    const session = await startSession(id)
    expect(await think(id)).not.toHaveProperty('unsealed')
    const size = rig.ledger.size()
    const tried = await rig.data('merkle_finalize', { session_id: session, dry_run: true })
    expect(tried).toMatchObject({ dry_run: true, record_count: 1, left_out_count: 1, left_out: [{ id: early['id'] }] })
    expect(tried).not.toHaveProperty('log_index')
    expect(rig.ledger.size()).toBe(size)
    const sealed = await rig.data('merkle_finalize', { session_id: session })
    expect(sealed).toMatchObject({ root: tried['root'], left_out_count: 1, left_out: [{ id: early['id'] }] })
  })

  it('do not prevent an empty session from being closed with the root of the empty tree', async () => {
    const session = await startSession(await create())
    expect(await rig.error('merkle_finalize', { session_id: session })).toMatchObject({ code: 'ERR_NO_RECORDS' })
    const closed = await rig.data('merkle_finalize', { session_id: session, close_empty: true })
    // RFC 6962 § 2.1: the hash of an empty tree is SHA-256 of nothing.
    const root = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    expect(closed).toMatchObject({ root, record_count: 0, first_index: 1, last_index: 1 })
    expect(await rig.data('merkle_root', { session_id: session })).toMatchObject({ root, record_count: 0 })
    expect(await rig.data('audit_verify_chain')).toMatchObject({ valid: true })
    expect(await rig.data('audit_session_list')).toMatchObject({ sessions: [{ state: 'sealed', record_count: 0 }] })
  })
})

describe('an idempotency key', () => {
  it('replays the answer of a repeated call, and conflicts with a call of other arguments', async () => {
    const id = await create()
    const thought = { type: 'plan', task_id: id, agent_id: 'ada', content: 'x', idempotency_key: 'k-1' }
    const [first, second] = [await rig.through('thought_record', thought), await rig.through('thought_record', thought)]
    expect(first.ok && second.ok && second.value.data).toEqual(first.ok && first.value.data)
    expect(rig.entries('thought')).toHaveLength(1)
    expect(await rig.through('thought_record', { ...thought, content: 'y' })).toMatchObject({
      ok: false,
      fault: { kind: 'conflict' },
    })
    for (const [tool, args] of [
      ['task_create', { title: 'x', idempotency_key: 'k-1' }],
      ['task_update', { id, status: 'GATHER', idempotency_key: 'k-1' }],
      ['audit_session_start', { intent: 'x', task_id: id, idempotency_key: 'k-1' }],
    ] as const) {
      const answers = [await rig.through(tool, args), await rig.through(tool, args)]
      expect(answers.every(({ ok }) => ok)).toBe(true)
    }
    expect(rig.entries('task.created')).toHaveLength(2)
    expect(rig.entries('task.transition')).toHaveLength(1)
    expect(rig.entries('session.start')).toHaveLength(1)
  })

  it('can be used again after a refusal', async () => {
    const id = await create()
    await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
    const done = { id, status: 'DONE', idempotency_key: 'k' }
    expect(await rig.through('task_update', done)).toMatchObject({ fault: { code: 'ERR_WRITEBACK_REQUIRED' } })
    await think(id, { type: 'reflection' })
    expect(await rig.through('task_update', done)).toMatchObject({ ok: true, value: { data: { status: 'DONE' } } })
  })
})

describe('runtime tool description', () => {
  it('names the failure pattern that spec 5 § 6.3 assigns to the tool', () => {
    const described = (name: string): string =>
      rig.service.capabilities().find(({ offer }) => offer.name === name)?.offer.description ?? ''
    for (const name of ['task_create', 'task_get', 'task_update', 'task_list', 'task_next_actions'])
      expect(described(name)).toContain('pattern B')
    for (const name of ['audit_session_start', 'merkle_finalize', 'merkle_root'])
      expect(described(name)).toContain('pattern B')
    for (const name of ['server_ping', 'server_health', 'skill_list', 'thought_record', 'thought_record_list'])
      expect(described(name)).toMatch(/pattern A, /)
    const tools = rig.service.capabilities().filter(({ offer }) => offer.face.kind === 'tool')
    const silent = tools.filter(({ offer }) => !/pattern [AB]/.test(offer.description))
    expect(silent.map(({ offer }) => offer.name)).toEqual([])
  })
})
