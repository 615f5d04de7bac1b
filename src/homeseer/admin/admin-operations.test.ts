import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ADMIN_ADAPTER_WRITE_OPERATIONS } from '../wire/admin-adapter.ts'
import { createAdminEnvelope } from './admin-envelope.ts'
import { findDirectAdminRoute } from './direct-admin-route.ts'
import { createUnsupportedAdminOperationCache } from './unsupported-operation-cache.ts'
import { createAdminCallRedactor } from './admin-redaction.ts'
import { createAdminGuardArgumentSchemas, omitGuardArguments } from './admin-operation.ts'
import { ADMIN_OPERATIONS } from './admin-operations.ts'

function operation(op: string) {
  const found = ADMIN_OPERATIONS.find((one) => one.op === op)
  if (found === undefined) throw new Error(op)
  return found
}

describe('admin operations', () => {
  it('equal those of the admin adapter, each in the domain that its name begins with', () => {
    expect(ADMIN_OPERATIONS.map(({ op }) => op).toSorted()).toEqual([...ADMIN_ADAPTER_WRITE_OPERATIONS].toSorted())
    for (const { op, domain } of ADMIN_OPERATIONS) expect(op.split('.')[0]).toBe(domain)
  })

  it('accept guard arguments without passing them to the adapter', () => {
    const { shape, domain } = operation('users.set_role')
    const input = { userId: 'a', role: 'guest', confirm: true, intent: 'abc', reason: 'abc', riskLevel: 'low' }
    const parsed = z.strictObject({ ...shape, ...createAdminGuardArgumentSchemas(domain) }).parse(input)
    expect(parsed).toMatchObject({ domain: 'users', riskLevel: 'low' })
    expect(omitGuardArguments(JSON.parse(JSON.stringify(parsed)))).toEqual({ userId: 'a', role: 'guest' })
    const wrong = z
      .strictObject({ ...shape, ...createAdminGuardArgumentSchemas(domain) })
      .safeParse({ ...input, domain: 'config' })
    expect(wrong.success).toBe(false)
  })

  it.each([
    [
      'users.create',
      { username: 'a' },
      undefined,
      { id: 'a' },
      { op: 'users.delete', args: { userId: 'a', hardDelete: true } },
    ],
    [
      'users.update',
      { userId: 'a', email: 'x' },
      { id: 'a', email: '' },
      {},
      { op: 'users.update', args: { userId: 'a', email: '' } },
    ],
    ['users.update', { userId: 'a', password: 'x' }, { id: 'a' }, {}, undefined],
    ['users.delete', { userId: 'a', hardDelete: true }, { enabled: true }, undefined, undefined],
    ['users.delete', { userId: 'a', hardDelete: false }, { enabled: false }, undefined, undefined],
    [
      'plugins.set_enabled',
      { pluginId: 'p', enabled: false },
      { instances: [{ enabled: true }, { enabled: false }] },
      {},
      undefined,
    ],
    ['plugins.remove', { pluginId: 'p' }, { instances: [{}] }, undefined, undefined],
    ['system.config.set', { key: 'k', value: 1 }, undefined, { key: 'k', value: 1 }, undefined],
    [
      'system.config.set',
      { key: 'k', value: 1 },
      { value: false },
      {},
      { op: 'system.config.set', args: { key: 'k', value: false } },
    ],
    [
      'config.device_metadata.set',
      { ref: 1, property: 'NAME', value: 'b' },
      { name: 'a' },
      {},
      { op: 'config.device_metadata.set', args: { ref: 1, property: 'NAME', value: 'a' } },
    ],
    ['config.device_metadata.set', { ref: 1, property: 'Address', value: 'b' }, { name: 'a' }, {}, undefined],
    [
      'events.update',
      { eventId: 7, definition: { enabled: false } },
      { enabled: true, actions: [] },
      {},
      { op: 'events.update', args: { eventId: 7, definition: { enabled: true, actions: [] } } },
    ],
    [
      'events.update',
      { group: 'g', name: 'n', definition: { enabled: false } },
      { enabled: true, actions: [] },
      {},
      { op: 'events.update', args: { group: 'g', name: 'n', definition: { enabled: true, actions: [] } } },
    ],
    [
      'config.category.upsert',
      { category: 'c', rooms: [] },
      undefined,
      {},
      { op: 'config.category.delete', args: { category: 'c' } },
    ],
  ] as const)(
    '%s %j is undone only by an operation that restores the former state',
    (op, args, before, after, undo) => {
      expect(operation(op).undo?.({ args, before, after })).toEqual(undo)
    },
  )
})

describe('redaction of admin calls', () => {
  it('hides the old and new value of a secret setting, and HomeSeer’s answer to it', () => {
    const args = { key: 'gSMTPPassword', value: 'b' }
    const { payload, record, raw } = createAdminCallRedactor(operation('system.config.set'), args)
    expect(payload).toEqual({ key: 'gSMTPPassword', value: '[redacted]' })
    // An adapter need not repeat the key.
    expect(record({ value: 'a', section: 'mail' })).toEqual({ value: '[redacted]', section: 'mail' })
    expect(raw({ said: 'it was a' })).toBe('[redacted]')
  })

  it.each([
    ['system.config.set', { key: 'gLocLabel', value: 'Room' }],
    ['system.config.set', { key: 'gNoPW192', value: true }],
    ['config.device_metadata.set', { ref: 1, property: 'Name', value: 'Password Safe' }],
  ])('of %s %j hides nothing', (op, args) => {
    const { payload, record, raw } = createAdminCallRedactor(operation(op), args)
    expect([payload, record(args), raw({ after: args })]).toEqual([args, args, { after: args }])
  })

  it('reports that a hidden value changed', () => {
    const redaction = createAdminCallRedactor(operation('system.config.set'), { key: 'gSMTPPassword', value: 'b' })
    const claims = { riskLevel: 'low' } as const
    const parts = {
      result: 'applied',
      domain: 'system',
      claims,
      requireTicket: false,
      auditRef: '',
      steps: [],
    } as const
    const diff = (before: string, after: string) =>
      createAdminEnvelope({ ...parts, redaction, before: { value: before }, after: { value: after } })['diff']
    const hidden = { before: '[redacted]', after: '[redacted]' }
    expect(diff('a', 'b')).toEqual({ changed: true, changedKeys: ['value'], changes: { value: hidden } })
    expect(diff('b', 'b')).toEqual({ changed: false, changedKeys: [], changes: {} })
  })
})

describe('direct admin route', () => {
  it.each([
    ['config.device_metadata.set', { ref: 1, property: 'Name', value: 'a b' }, 'json:setdeviceproperty'],
    ['system.backup.start', { includeMedia: true }, 'page:backup'],
    ['system.shutdown', { graceSeconds: 5 }, 'script'],
    ['plugins.install', { pluginId: 'x' }, 'pluginfunction:updater.InstallPlugin'],
  ])('of %s uses %3$s', (op, args, transport) => {
    expect(findDirectAdminRoute(op, args, '/runscript.html')?.transport).toBe(transport)
  })

  it.each([
    ['users.create', { username: 'a' }],
    ['system.backup.start', { label: 'x', includeMedia: true }],
    ['plugins.install', { pluginId: 'x', source: 'http://192.0.2.1' }],
    ['events.create', { group: 'a', name: 'b' }],
  ])('does not exist for %s %j', (op, args) => {
    expect(findDirectAdminRoute(op, args, '/runscript.html')).toBeUndefined()
  })
})

describe('cache of unsupported admin operations', () => {
  it('keeps an operation for its configured time, and nothing with a time of zero', () => {
    let nowMs = 0
    const cache = createUnsupportedAdminOperationCache(1_000, () => nowMs)
    cache.learnUnsupported('users.create')
    expect([cache.isUnsupported('users.create'), cache.isUnsupported('users.delete'), cache.size()]).toEqual([
      true,
      false,
      1,
    ])
    nowMs = 1_000
    expect([cache.isUnsupported('users.create'), cache.size()]).toEqual([false, 0])
    const none = createUnsupportedAdminOperationCache(0, () => 0)
    none.learnUnsupported('users.create')
    expect(none.isUnsupported('users.create')).toBe(false)
  })
})
