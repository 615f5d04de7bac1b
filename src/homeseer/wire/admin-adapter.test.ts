import { describe, expect, it } from 'vitest'
import {
  createAdminAdapterHttpRequest,
  decodeAdminAdapterCommand,
  encodeAdminAdapterCommand,
  encodeAdminAdapterReply,
  type AdminAdapterReply,
} from './admin-adapter.ts'

const REQUEST = { id: '01J', op: 'users.create', args: { username: 'ann' } }
const receive = (...responseArray: readonly string[]) =>
  createAdminAdapterHttpRequest(REQUEST).decode({ kind: 'json', value: responseArray })

describe('admin adapter request', () => {
  it('is encoded as one script command, without a quote of the caller in it', () => {
    const command = encodeAdminAdapterCommand({ ...REQUEST, args: { username: '","x",true,false) : hs.Shutdown("' } })
    expect(command).toMatch(/^hs\.RunScriptFunc\("hearthbus_admin\.cs","Handle","hb1\.[\w-]+",true,false\)$/)
    expect(decodeAdminAdapterCommand(command)).toEqual({
      ok: true,
      value: { ...REQUEST, args: { username: '","x",true,false) : hs.Shutdown("' } },
    })
  })

  it('is not decoded from another script', () => {
    expect(decodeAdminAdapterCommand('hs.Shutdown(30)')).toBeUndefined()
    expect(decodeAdminAdapterCommand(`${encodeAdminAdapterCommand(REQUEST)} : hs.Shutdown(0)`)).toBeUndefined()
    expect(decodeAdminAdapterCommand('hs.RunScriptFunc("hearthbus_admin.cs","Handle","hb1.AAAA",true,false)')).toEqual({
      ok: false,
      fault: 'broken',
    })
  })

  it('has a reply for success and one for failure', () => {
    const done: AdminAdapterReply = { id: '01J', ok: true, data: { before: null, after: { username: 'ann' } } }
    expect(receive('response', encodeAdminAdapterReply(done))).toEqual({ ok: true, value: done })
    const refused: AdminAdapterReply = { id: '01J', ok: false, code: 'conflict', message: 'there is an ann' }
    expect(receive('response', encodeAdminAdapterReply(refused))).toEqual({ ok: true, value: refused })
  })

  it('is unsupported unless the reply has the mark, version and id', () => {
    const absent = { ok: false, fault: { kind: 'refused', reason: 'unsupported', text: 'no admin adapter answered' } }
    expect(receive('response', 'ok')).toEqual(absent)
    expect(receive('response', 'User created successfully')).toEqual(absent)
    expect(receive('response', encodeAdminAdapterReply({ id: 'other', ok: true, data: {} }))).toEqual(absent)
    expect(receive('response', `hb1.${Buffer.from('{"v":2,"id":"01J","ok":true}').toString('base64url')}`)).toEqual(
      absent,
    )
    expect(receive()).toEqual(absent)
  })

  it('is marked as a read only if its operation changes nothing', () => {
    expect(createAdminAdapterHttpRequest(REQUEST).effect).toBe('writes')
    expect(createAdminAdapterHttpRequest({ ...REQUEST, op: 'users.list' }).effect).toBe('reads')
    expect(createAdminAdapterHttpRequest({ ...REQUEST, op: 'anything.else' }).effect).toBe('writes')
  })
})
