import { describe, expect, it } from 'vitest'
import type { Caller } from '../bus/call.ts'
import { createAuthenticator, OWNER_PRINCIPAL } from './authenticator.ts'
import type { CredentialSources } from './authenticator.ts'
import { generateAccessTokenText } from './access-token.ts'
import type { AccessTokenRecord } from './access-token.ts'

const HERE = '127.0.0.1'
const ELSEWHERE = '192.168.1.20'
const agentToken = generateAccessTokenText()
const narrowToken = generateAccessTokenText()
const ownerToken = generateAccessTokenText()

const record: AccessTokenRecord = {
  name: 'claude',
  role: 'agent',
  restrictions: undefined,
  createdAtMs: 0,
  createdBy: 'owner',
  expiresAtMs: undefined,
  lastUsedAtMs: undefined,
  revokedAtMs: undefined,
  hasExpired: false,
}

const sources: CredentialSources = {
  anonymous: 'agent',
  isOwner: (token) => token === ownerToken,
  findToken: (token) => {
    if (token === agentToken) return record
    return token === narrowToken ? { ...record, name: 'tv', restrictions: { profiles: ['read'] } } : undefined
  },
}

const authenticate = createAuthenticator(sources)
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('authenticator', () => {
  it('accepts the configured token as an agent, and no other text', () => {
    const configured = createAuthenticator({
      ...sources,
      anonymous: 'off',
      isConfigured: (token) => token === 'replace-me',
    })
    expect(configured(bearer('replace-me'), ELSEWHERE)).toEqual({
      ok: true,
      value: { kind: 'principal', id: 'configured:token', role: 'agent' },
    })
    expect(configured(bearer('replace-mf'), ELSEWHERE)).toMatchObject({ ok: false, fault: { status: 403 } })
    expect(configured({}, HERE)).toMatchObject({ ok: false, fault: { status: 401 } })
  })

  it('treats a program on this machine as the local agent, with its client name', () => {
    expect(authenticate({}, HERE, { client: 'inspector' })).toEqual({
      ok: true,
      value: { kind: 'principal', id: 'local', role: 'agent', client: 'inspector' },
    })
  })

  it('requires a token from every other address', () => {
    for (const address of [ELSEWHERE, '::ffff:192.168.1.20', 'fe80::1', '', undefined])
      expect(authenticate({}, address)).toMatchObject({ ok: false, fault: { status: 401 } })
  })

  it('requires a token from this machine too when anonymous access is off', () => {
    const strict = createAuthenticator({ ...sources, anonymous: 'off' })
    expect(strict({}, HERE)).toMatchObject({ ok: false, fault: { status: 401 } })
    const observer = createAuthenticator({ ...sources, anonymous: 'observer' })
    expect(observer({}, HERE)).toMatchObject({ ok: true, value: { role: 'observer' } })
    const unknown = createAuthenticator({ ...sources, anonymous: 'admin' as 'off' })
    expect(unknown({}, HERE)).toMatchObject({ ok: false, fault: { status: 401 } })
  })

  it('does not treat a request forwarded by a local proxy as local', () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
      expect(authenticate({ [name]: ELSEWHERE }, HERE)).toMatchObject({ ok: false, fault: { status: 401 } })
  })

  it('recognises the holder of a token from any address', () => {
    const claude = { ok: true, value: { kind: 'principal', id: 'claude', role: 'agent' } }
    expect(authenticate(bearer(agentToken), ELSEWHERE)).toEqual(claude)
    expect(authenticate({ authorization: `bearer  ${agentToken}` }, undefined)).toEqual(claude)
    expect(authenticate(new Headers(bearer(agentToken)), ELSEWHERE)).toEqual(claude)
    expect(authenticate(bearer(ownerToken), ELSEWHERE)).toEqual({ ok: true, value: OWNER_PRINCIPAL })
  })

  it('refuses an invalid token even where no token is required', () => {
    for (const authorization of [
      `Bearer ${generateAccessTokenText()}`,
      `Bearer ${agentToken}x`,
      `Bearer ${agentToken}, Bearer ${agentToken}`,
      `Basic ${agentToken}`,
      agentToken,
      'Bearer',
      '',
    ])
      expect(authenticate({ authorization }, HERE)).toMatchObject({ ok: false, fault: { status: 403 } })
  })

  it('restricts a narrowed token to its profiles', () => {
    expect(authenticate(bearer(narrowToken), HERE, { profile: 'read' })).toMatchObject({
      ok: true,
      value: { id: 'tv', restrictions: { profiles: ['read'] } },
    })
    expect(authenticate(bearer(narrowToken), HERE, { profile: 'all' })).toMatchObject({
      ok: false,
      fault: { status: 403 },
    })
  })

  it('uses the console session unless there is a token', () => {
    const anna: Caller = { kind: 'principal', id: 'anna', role: 'approver' }
    const signedIn = createAuthenticator({ ...sources, findSession: () => anna })
    expect(signedIn({ cookie: 's=1' }, ELSEWHERE)).toEqual({ ok: true, value: anna })
    expect(signedIn({ cookie: 's=1', ...bearer(generateAccessTokenText()) }, HERE)).toMatchObject({ ok: false })
  })
})
