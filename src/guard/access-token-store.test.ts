import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { actuator, ADMIN, AGENT, APPROVER, callOf, offerOf, openHouse, around } from '../../test/guard-house.ts'
import { loadOrCreateOwnerTokenVerifier, readOwnerToken } from './owner-token-store.ts'
import type { OwnerTokenHashLog } from './owner-token-store.ts'
import { isAccessToken, generateAccessTokenText } from './access-token.ts'
import type { AccessTokenRequest } from './access-token.ts'

describe('access token store', () => {
  it('returns a token once and stores only its hash', async () => {
    using house = openHouse({}, undefined, [])
    const made = await house.guard.tokens.create(ADMIN, { name: 'claude', role: 'agent' })
    if (!made.ok) throw new Error(made.fault.message)
    expect(isAccessToken(made.value.token)).toBe(true)
    expect(house.everything()).not.toContain(made.value.token)
    expect(house.guard.tokens.find(made.value.token)).toMatchObject({ name: 'claude', role: 'agent' })
    expect(house.events()).toMatchObject([{ kind: 'token.created', name: 'claude', role: 'agent', by: 'owner' }])
  })

  it('finds its tokens after a restart, and refuses any other text', async () => {
    using house = openHouse({}, undefined, [])
    const made = await house.guard.tokens.create(ADMIN, {
      name: 'tv',
      role: 'agent',
      restrictions: { effects: ['reads', 'writes'], devices: ['lamp:*'] },
    })
    if (!made.ok) throw new Error(made.fault.message)
    const { token } = made.value
    const { tokens } = house.afterPowerCut().guard
    expect(tokens.find(token)?.restrictions).toEqual({ effects: ['reads', 'writes'], devices: ['lamp:*'] })
    const last = token.at(-1) === 'A' ? 'B' : 'A'
    expect(tokens.find(token.slice(0, -1) + last)).toBeUndefined()
  })

  it('refuses a token as soon as it is revoked or expired', async () => {
    using house = openHouse({}, undefined, [])
    const { tokens } = house.guard
    const short = await tokens.create(ADMIN, { name: 'guest', role: 'observer', ttlMs: 60_000 })
    const long = await tokens.create(ADMIN, { name: 'claude', role: 'agent' })
    if (!short.ok || !long.ok) throw new Error('no tokens')
    house.clock.advance(59_999)
    expect(tokens.find(short.value.token)?.name).toBe('guest')
    house.clock.advance(1)
    expect(tokens.find(short.value.token)).toBeUndefined()
    expect(await tokens.revoke(ADMIN, 'claude')).toEqual({ ok: true, value: undefined })
    expect(tokens.find(long.value.token)).toBeUndefined()
    expect(await tokens.revoke(ADMIN, 'claude')).toMatchObject({ ok: false, fault: { kind: 'not-found' } })
    expect(house.events('token.revoked')).toHaveLength(1)
  })

  it('refuses a token that was seen expired also after the clock was set back and after a restart', async () => {
    using house = openHouse({}, undefined, [])
    const { tokens } = house.guard
    const short = await tokens.create(ADMIN, { name: 'guest', role: 'observer', ttlMs: 60_000 })
    if (!short.ok) throw new Error('no token')
    house.clock.advance(60_000)
    await house.guard.sweep()
    await house.guard.sweep()
    house.clock.set(-30_000)
    expect(tokens.find(short.value.token)).toBeUndefined()
    expect(house.afterPowerCut().guard.tokens.find(short.value.token)).toBeUndefined()
    expect(house.events('token.expired')).toMatchObject([{ name: 'guest' }])
    expect(tokens.list()).toMatchObject([{ name: 'guest', hasExpired: true, revokedAtMs: undefined }])
    expect(await tokens.create(ADMIN, { name: 'guest', role: 'observer' })).toMatchObject({ ok: true })
  })

  it('replaces the token that expired first when 1,000 are stored, and never a live one', async () => {
    using house = openHouse({}, undefined, [])
    const { tokens } = house.guard
    const make = (name: string, ttlMs?: number) =>
      tokens.create(ADMIN, { name, role: 'observer', ...(ttlMs !== undefined && { ttlMs }) })
    await Promise.all(Array.from({ length: 998 }, (_, index) => make(`t${index}`)))
    await make('guest', 60_000)
    await make('plumber', 30_000)
    expect(await make('new')).toMatchObject({ ok: false, fault: { kind: 'busy' } })
    house.clock.advance(60_000)
    expect(await make('new')).toMatchObject({ ok: true })
    expect(house.events('token.revoked')).toMatchObject([{ name: 'plumber', by: 'owner' }])
    expect(await make('newer')).toMatchObject({ ok: true })
    expect(await make('newest')).toMatchObject({ ok: false, fault: { kind: 'busy' } })
  })

  it('reports each revoked, expired and replaced token once, and no refused change', async () => {
    using house = openHouse({}, undefined, [])
    const { tokens } = house.guard
    const ended: string[] = []
    tokens.onEnd((name) => ended.push(name))
    await tokens.create(ADMIN, { name: 'guest', role: 'observer', ttlMs: 60_000 })
    await tokens.create(ADMIN, { name: 'claude', role: 'agent' })
    await tokens.revoke(AGENT, 'claude')
    await house.guard.sweep()
    expect(ended).toEqual([])
    await tokens.revoke(ADMIN, 'claude')
    house.clock.advance(60_000)
    await house.guard.sweep()
    await house.guard.sweep()
    expect(ended).toEqual(['claude', 'guest'])
    await tokens.create(ADMIN, { name: 'guest', role: 'agent' })
    expect(ended).toEqual(['claude', 'guest', 'guest'])
  })

  it('allows one live token per name', async () => {
    using house = openHouse({}, undefined, [])
    const { tokens } = house.guard
    const first = await tokens.create(ADMIN, { name: 'claude', role: 'agent', ttlMs: 1_000 })
    expect(await tokens.create(ADMIN, { name: 'claude', role: 'admin' })).toMatchObject({ fault: { kind: 'conflict' } })
    house.clock.advance(1_000)
    expect(await tokens.create(ADMIN, { name: 'claude', role: 'agent' })).toMatchObject({ ok: true })
    expect(first.ok && tokens.find(first.value.token)).toBeUndefined()
    expect(tokens.list().map(({ name, revokedAtMs }) => [name, revokedAtMs !== undefined])).toEqual([
      ['claude', true],
      ['claude', false],
    ])
  })

  it('ends the approvals, grants and prepared changes of a revoked token', async () => {
    using house = openHouse()
    const { tokens, approvals, grants, services } = house.guard
    await tokens.create(ADMIN, { name: 'claude', role: 'agent' })
    const offer = offerOf('sensitive')
    const call = () => around(house.guard, callOf(offer, { celsius: 20 }), offer, actuator().proceed)
    await call()
    const grant = { target: 'any', bounds: {}, free: [], maxUses: 9, durationMs: 60_000 } as const
    await approvals.approve(approvals.list()[0]?.id ?? '', APPROVER, { grant })
    const ticket = await services.changes.prepare({
      principal: 'claude',
      tool: 't',
      args: {},
      summary: '',
      ttlMs: 60_000,
    })
    await tokens.revoke(ADMIN, 'claude')
    await tokens.create(ADMIN, { name: 'claude', role: 'agent' })
    expect(approvals.list().map(({ state, reason }) => [state, reason])).toEqual([
      ['expired', 'the credential is gone'],
    ])
    expect(grants.list()).toEqual([])
    expect(ticket.ok && services.changes.peek(ticket.value.token, 'claude').ok).toBe(false)
    expect(await call()).toMatchObject({ fault: { kind: 'approval-required' } })
  })

  it('lets only an admin create or revoke a token', async () => {
    using house = openHouse({}, undefined, [])
    for (const by of [
      AGENT,
      APPROVER,
      { kind: 'service', id: 'x' } as const,
      { kind: 'peer', id: 'p', level: 'anchor' } as const,
    ]) {
      expect(await house.guard.tokens.create(by, { name: 'x', role: 'admin' })).toMatchObject({
        fault: { kind: 'not-permitted' },
      })
      expect(await house.guard.tokens.revoke(by, 'x')).toMatchObject({ fault: { kind: 'not-permitted' } })
    }
    expect(house.guard.tokens.list()).toEqual([])
  })

  it('refuses an invalid name, role, lifetime or restriction', async () => {
    using house = openHouse({}, undefined, [])
    const bad: AccessTokenRequest[] = [
      { name: 'local', role: 'agent' },
      { name: 'owner', role: 'admin' },
      { name: 'console', role: 'agent' },
      { name: 'console-observer', role: 'agent' },
      { name: 'peer:attic', role: 'agent' },
      { name: '', role: 'agent' },
      { name: 'x'.repeat(65), role: 'agent' },
      { name: 'x', role: 'root' as 'admin' },
      { name: 'x', role: 'agent', ttlMs: 0 },
      { name: 'x', role: 'agent', ttlMs: NaN },
      { name: 'x', role: 'agent', restrictions: { effects: ['everything' as 'reads'] } },
      { name: 'x', role: 'agent', restrictions: { devices: ['y'.repeat(201)] } },
      { name: 'x', role: 'agent', restrictions: { devices: ['lamp:1', 'nonsense'] } },
      { name: 'x', role: 'agent', restrictions: { devices: ['Hall Lamp (Hall', 'Ground)'] } },
      { name: 'x', role: 'agent', restrictions: { devices: ['*:1'] } },
    ]
    for (const token of bad)
      expect(await house.guard.tokens.create(ADMIN, token)).toMatchObject({ fault: { kind: 'invalid-arguments' } })
  })

  it('records the last use of a token at most once a minute', async () => {
    using house = openHouse({}, undefined, [])
    const made = await house.guard.tokens.create(ADMIN, { name: 'claude', role: 'agent' })
    if (!made.ok) throw new Error(made.fault.message)
    house.clock.advance(5_000)
    house.guard.tokens.find(made.value.token)
    const written = house.clock.now()
    expect(house.guard.tokens.list()[0]?.lastUsedAtMs).toBe(written)
    expect(house.afterPowerCut().guard.tokens.list()[0]?.lastUsedAtMs).toBeUndefined()
    await house.guard.sweep()
    house.clock.advance(59_999)
    house.guard.tokens.find(made.value.token)
    await house.guard.sweep()
    expect(house.afterPowerCut().guard.tokens.list()[0]?.lastUsedAtMs).toBe(written)
    house.clock.advance(1)
    await house.guard.sweep()
    expect(house.afterPowerCut().guard.tokens.list()[0]?.lastUsedAtMs).toBe(written + 59_999)
  })
})

describe('owner token', () => {
  it('is created once, readable by the owner only, after its hash was recorded', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hearthbus-owner-'))
    try {
      const path = join(directory, 'keys', 'owner.token')
      const record = ownerRecord(path)
      const owner = await loadOrCreateOwnerTokenVerifier(path, record)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      const token = readOwnerToken(path)
      expect(owner.matches(token)).toBe(true)
      expect(owner.matches(`${token.slice(0, -1)}_`)).toBe(false)
      await loadOrCreateOwnerTokenVerifier(path, record)
      expect(readFileSync(path, 'utf8')).toBe(`${token}\n`)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('is refused from a file that others may read or that contains another text', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hearthbus-owner-'))
    try {
      const path = join(directory, 'owner.token')
      const record = ownerRecord(path)
      await loadOrCreateOwnerTokenVerifier(path, record)
      chmodSync(path, 0o644)
      await expect(loadOrCreateOwnerTokenVerifier(path, record)).rejects.toThrow(/chmod 600/)
      chmodSync(path, 0o600)
      writeFileSync(path, 'password\n')
      await expect(loadOrCreateOwnerTokenVerifier(path, record)).rejects.toThrow(/holds no token/)
      // Another one of the right form, by who can write here.
      writeFileSync(path, `${generateAccessTokenText()}\n`)
      await expect(loadOrCreateOwnerTokenVerifier(path, record)).rejects.toThrow(/not the token that this node made/)
      rmSync(path)
      const owner = await loadOrCreateOwnerTokenVerifier(path, record)
      expect(owner.matches(readOwnerToken(path))).toBe(true)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

/** The file must not be there before the log knows of it. */
function ownerRecord(path: string): OwnerTokenHashLog {
  let known: string | undefined
  return {
    known: () => known,
    record: async (hash) => {
      if (existsSync(path)) throw new Error('there before it was on record')
      known = hash
    },
  }
}
