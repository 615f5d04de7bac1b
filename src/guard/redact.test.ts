import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { hideSecrets, redactArguments, redactData, redactText } from './redact.ts'
import { isSecretName } from './secret-name.ts'

describe('secret name', () => {
  it('knows a secret by its name in any spelling', () => {
    const secrets =
      'password Password userPassword user_password new-password passwd pwd passphrase secret clientSecret client_secret ' +
      'token accessToken access_token ACCESS_TOKEN apiKey api_key API-Key apikey x-api-key privateKey pin PIN userPin ' +
      'pin_code pinCode lockCode lock_code userCode doorCode alarm_code disarmCode otp authorization Authorization auth ' +
      'bearer cookie credentials wifiPsk psk jwt passcode setUserPIN2'
    expect(secrets.split(' ').filter((name) => !isSecretName(name))).toEqual([])
  })

  it('leaves alone what only sounds like one', () => {
    const harmless =
      'tokens max_tokens token_count tokensIn pinned ping spin opinion author authority errorCode statusCode ' +
      'language_code key idempotency_key idempotencyKey keyboard compass bypass_mode passage secretary reason intent ' +
      'ref value celsius'
    expect(harmless.split(' ').filter(isSecretName)).toEqual([])
  })
})

describe('redact', () => {
  it('replaces secrets at any depth, whole', () => {
    expect(
      redactArguments({
        ref: 4711,
        code: '1234',
        user: { name: 'anna', password: 'hunter2', keys: [{ api_key: { id: 1, value: 'x' } }] },
      }),
    ).toEqual({
      ref: 4711,
      code: '[redacted]',
      user: { name: 'anna', password: '[redacted]', keys: [{ api_key: '[redacted]' }] },
    })
  })

  it('replaces what the offer names, and what the schema marks', () => {
    const requestSchema = {
      type: 'object',
      properties: {
        phrase: { type: 'string', format: 'password' },
        nested: { $ref: '#/$defs/Nested' },
        list: { type: 'array', items: { anyOf: [{ type: 'number' }, { type: 'string', writeOnly: true }] } },
      },
      $defs: { Nested: { type: 'object', properties: { inner: { type: 'string', writeOnly: true } } } },
    }
    expect(
      redactArguments(
        { phrase: 'open sesame', nested: { inner: 'a', outer: 'b' }, list: [1], Combination: 42 },
        { requestSchema, secrets: ['combination'] },
      ),
    ).toEqual({
      phrase: '[redacted]',
      nested: { inner: '[redacted]', outer: 'b' },
      list: ['[redacted]'],
      Combination: '[redacted]',
    })
  })

  it('finds credentials inside running text', () => {
    const token = `hb_${'A'.repeat(43)}`
    expect(redactText(`use ${token} or Bearer abcdefgh12345678 at http://anna:secret@10.0.0.5/x?user=a&pass=b#c`)).toBe(
      'use [redacted] or Bearer [redacted] at http://[redacted]@10.0.0.5/x?user=a&pass=[redacted]#c',
    )
  })

  it('keeps the code of an error and hides the code among arguments', () => {
    expect(redactData({ error: { code: 'HS4_ERROR' } })).toEqual({ error: { code: 'HS4_ERROR' } })
    expect(redactArguments({ code: 'x' })).toEqual({ code: '[redacted]' })
  })

  it('treats a key called __proto__ as a key', () => {
    const body = JSON.parse('{"__proto__": {"password": "x", "admin": true}}') as JsonObject
    const kept = redactArguments(body)
    expect(JSON.stringify(kept)).toBe('{"__proto__":{"password":"[redacted]","admin":true}}')
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype)
  })

  it('cuts to a size that can be kept, and says that it did', () => {
    const long = redactArguments({ text: 'x'.repeat(100_000) })
    expect(long['text']).toMatch(/^x{4096}\[cut\]$/)
    const wide = redactArguments({ list: Array.from({ length: 1_000 }, (_, index) => index) })
    expect(wide['list']).toHaveLength(257)
    const huge = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 'y'.repeat(500)]))
    expect(JSON.stringify(redactArguments(huge)).length).toBeLessThan(40_000)
    let deep: JsonObject = { end: true }
    for (let level = 0; level < 5_000; level++) deep = { deep }
    expect(JSON.stringify(redactArguments(deep))).toContain('[cut]')
  })

  it('does not cut a credential in half', () => {
    const url = `http://anna:${'s3cr3t'.repeat(20)}@10.0.0.5/`
    for (let before = 4_050; before < 4_110; before += 7)
      expect(redactArguments({ text: `${'x'.repeat(before)} ${url}` })['text']).not.toContain('s3cr3t')
  })

  it('cuts nothing where an answer must come back whole', () => {
    const data = { text: 'x'.repeat(100_000), token: 'abc' }
    expect(hideSecrets(data)).toEqual({ text: data.text, token: '[redacted]' })
  })

  it('hides everything rather than follow a schema without end', () => {
    const requestSchema = {
      $defs: { Knot: { anyOf: [{ $ref: '#/$defs/Knot' }, { $ref: '#/$defs/Knot' }, { $ref: '#/$defs/Knot' }] } },
      properties: { a: { $ref: '#/$defs/Knot' }, hidden: { writeOnly: true } },
    }
    expect(redactArguments({ a: 'x', hidden: 'y' }, { requestSchema })).toEqual({
      a: '[redacted]',
      hidden: '[redacted]',
    })
  })

  it('never keeps a secret, never throws, and always gives canonical JSON, whatever it is given', () => {
    const body = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 }) as fc.Arbitrary<JsonObject>
    const secret = 's3cr3t-s3cr3t'
    const place = fc.constantFrom('password', 'apiKey', 'lock_code', 'x-auth-token', 'PIN')
    const found = fc.check(
      fc.property(body, place, fc.string({ unit: 'binary' }), (rest, name, half) => {
        const kept = redactArguments({ rest: { ...rest, [name]: [secret] }, half: `${half}\ud800` })
        return !canonicalJson(kept).includes(secret)
      }),
    )
    expect(found.counterexample).toBeNull()
  })
})
