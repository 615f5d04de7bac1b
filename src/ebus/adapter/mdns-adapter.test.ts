/** Announcements as ebusd 26.1 reads them (src/lib/utils/tcpsocket.cpp): `_ebusd._tcp`, an id of twelve digits, a protocol. */
import { describe, expect, it } from 'vitest'
import { chooseMdnsAdapter, parseMdnsAdapter } from './mdns-adapter.ts'

const SHIELD = { txt: { id: '0123456789AB', proto: 'ens' }, addresses: ['fe80::1', '192.168.1.182'], port: 9_999 }

describe('an adapter announced over mDNS', () => {
  it('is read with id, address and port, preferring an IPv4 address', () => {
    expect(parseMdnsAdapter(SHIELD)).toEqual({ id: '0123456789ab', host: '192.168.1.182', port: 9_999 })
  })

  it.each([
    ['a plain one', { ...SHIELD, txt: { id: '0123456789ab', proto: 'raw' } }],
    ['one without an id', { ...SHIELD, txt: { proto: 'ens' } }],
    ['one without an address', { ...SHIELD, addresses: [] }],
    ['one without anything', { port: 9_999 }],
    ['a port that is none', { ...SHIELD, port: 0 }],
  ])('is ignored: %s', (_, announcement) => {
    expect(parseMdnsAdapter(announcement)).toBeUndefined()
  })

  it('is chosen if it is the only one or has the requested id; two without an id are refused', () => {
    const [cellar, attic] = ['0123456789ab', 'ba9876543210'].map((id) => ({ id, host: id, port: 9_999 }))
    if (cellar === undefined || attic === undefined) throw new Error('two adapters')
    expect(chooseMdnsAdapter([cellar, cellar], undefined)).toEqual({ ok: true, value: cellar })
    expect(chooseMdnsAdapter([cellar, attic], 'BA9876543210')).toEqual({ ok: true, value: attic })
    const both = chooseMdnsAdapter([cellar, attic], undefined)
    expect(both).toEqual({ ok: false, fault: expect.stringContaining('mdns:0123456789ab or mdns:ba9876543210') })
    expect(chooseMdnsAdapter([cellar], 'ba9876543210')).toEqual({
      ok: false,
      fault: expect.stringContaining('no adapter'),
    })
    expect(chooseMdnsAdapter([], undefined)).toMatchObject({ ok: false })
  })
})
