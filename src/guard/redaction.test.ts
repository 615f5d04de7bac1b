import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/any-text.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { hideSecretsInJson, redactArguments, redactJson } from './redaction.ts'
import { isSecretName, redactText, truncateAndRedactText } from './secret-detection.ts'

describe('secret name', () => {
  it('recognises a secret by its name in any spelling', () => {
    const secrets =
      'password Password userPassword user_password new-password passwd pwd passphrase secret clientSecret client_secret ' +
      'token accessToken access_token ACCESS_TOKEN apiKey api_key API-Key apikey x-api-key privateKey pin PIN userPin ' +
      'pin_code pinCode lockCode lock_code userCode doorCode alarm_code disarmCode otp authorization Authorization auth ' +
      'bearer cookie credentials wifiPsk psk jwt passcode setUserPIN2 gSMTPPassword smtppassword SMTPpass emailpwd ' +
      'gSMTPPW clientsecret bottoken MQTTpassword mqtt.password lockCodes user_codes apiKeys passwords wifi_key ' +
      'networkKey installCode Passwort'
    expect(secrets.split(' ').filter((name) => !isSecretName(name))).toEqual([])
  })

  it('ignores names that only resemble one', () => {
    const harmless =
      'tokens max_tokens token_count tokensIn pinned ping spin opinion author authority errorCode statusCode ' +
      'language_code key idempotency_key idempotencyKey keyboard compass bypass_mode passage secretary reason intent ' +
      'ref value celsius lowpass compass gLocLabel codes keys errorCodes postcode sleepwalk pins'
    expect(harmless.split(' ').filter(isSecretName)).toEqual([])
  })
})

describe('secret in a pair of name and value', () => {
  it.each([
    [
      { key: 'gSMTPPassword', value: 'NEW-1' },
      { key: 'gSMTPPassword', value: '[redacted]' },
    ],
    [
      { setting_name: 'mqtt.password', old: 'OLD-1', newValue: ['NEW-1'], section: 'mqtt' },
      { setting_name: 'mqtt.password', old: '[redacted]', newValue: '[redacted]', section: 'mqtt' },
    ],
    [
      {
        headers: [
          { name: 'Authorization', value: 'x1' },
          { name: 'Accept', value: 'text' },
        ],
      },
      {
        headers: [
          { name: 'Authorization', value: '[redacted]' },
          { name: 'Accept', value: 'text' },
        ],
      },
    ],
    [
      { property: 'UserPIN', before: 1111, after: 4711 },
      { property: 'UserPIN', before: '[redacted]', after: '[redacted]' },
    ],
    [
      { id: 'lock-code', default: { digits: [4, 7] }, unit: 'none' },
      { id: 'lock-code', default: '[redacted]', unit: 'none' },
    ],
    [
      { name: 'Kitchen Lamp', value: 255, before: 0 },
      { name: 'Kitchen Lamp', value: 255, before: 0 },
    ],
    [
      { key: 'gLocLabel', value: 'Room' },
      { key: 'gLocLabel', value: 'Room' },
    ],
    [
      { key: 'gNoPW192', value: false, before: null },
      { key: 'gNoPW192', value: false, before: null },
    ],
    [
      { keys: 'password', values: [1] },
      { keys: 'password', values: [1] },
    ],
  ])('is redacted from %j to %j', (given, kept) => {
    expect(redactArguments(given)).toEqual(kept)
    expect(redactJson([given])).toEqual([kept])
    expect(hideSecretsInJson({ deep: given })).toEqual({ deep: kept })
    // Nobody needs a password to say yes.
    expect(redactJson(given, [], 'approver')).toEqual(kept)
  })

  it('in positional arguments or results of code is not stored, but shown to the approver', () => {
    const call = { plugin: 'Lock', functionName: 'SetUserCode', params: [1, 'CODE-4711'], raw: { said: 'CODE-4711' } }
    const kept = { plugin: 'Lock', functionName: 'SetUserCode', params: '[redacted]', raw: '[redacted]' }
    expect(redactArguments(call)).toEqual(kept)
    expect(redactJson({ data: call })).toEqual({ data: kept })
    expect(redactArguments(call, undefined, 'approver')).toEqual(call)
    expect(redactJson({ data: call }, [], 'approver')).toEqual({ data: call })
  })

  it('is not assumed in named parameters, and in lists that are not a call', () => {
    const harmless = [
      { method: 'ping', params: {} },
      { method: 'set', params: { ref: 1 }, raw: 'ok' },
      { functionName: 'Refresh', params: [] },
      { refs: [1, 2], arguments: ['a'], raw: 1 },
    ]
    expect(redactJson(harmless)).toEqual(harmless)
  })
})

describe('redaction', () => {
  it('replaces secrets at any depth as a whole', () => {
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

  it('replaces arguments named by the offer and those marked by the schema', () => {
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

  it('finds credentials in running text', () => {
    const token = `hb_${'A'.repeat(43)}`
    expect(redactText(`use ${token} or Bearer abcdefgh12345678 at http://anna:secret@10.0.0.5/x?user=a&pass=b#c`)).toBe(
      'use [redacted] or Bearer [redacted] at http://[redacted]@10.0.0.5/x?user=a&pass=[redacted]#c',
    )
  })

  it.each([
    ['a token of ours', `${'x '.repeat(40)}hb_${'S'.repeat(43)}`],
    ['a password in an address', `${'x '.repeat(40)}http://anna:${'S'.repeat(60)}@10.0.0.5/`],
    ['a long token behind others', `hb_${'S'.repeat(1_000)} `.repeat(8)],
    ['a text after a secret name', `${'x '.repeat(40)}password = "${'S'.repeat(2_000)}"`],
  ])('leaves nothing of %s that begins within the limit of a text', (_, text) => {
    for (let limit = 0; limit <= text.length + 1; limit++) {
      const kept = truncateAndRedactText(text, limit)
      expect(kept.length).toBeLessThanOrEqual(limit)
      expect(kept).not.toContain('S')
    }
    expect(JSON.stringify(redactJson({ said: `${'x '.repeat(2_000)}${text}` }))).not.toContain('S')
  })

  it('keeps the beginning of a long text up to the limit', () => {
    expect(truncateAndRedactText('Living room. '.repeat(1_000), 30)).toBe('Living room. Living room. Livi')
    expect(truncateAndRedactText('寒い'.repeat(1_000), 5)).toBe('寒い寒い寒')
    expect(truncateAndRedactText('short', 30)).toBe('short')
  })

  it.each([
    [
      'hs.SaveINISetting("Settings","gSMTPPassword","NEW-1","settings.ini")',
      'hs.SaveINISetting("Settings","gSMTPPassword","[redacted]","[redacted]")',
    ],
    [
      `hs.PluginFunction("Lock", "", "SetUserCode", new Object[] {1, "CODE""-4711"}); hs.WriteLog("a", "b")`,
      `hs.PluginFunction("Lock", "", "SetUserCode", new Object[] {[redacted], "[redacted]"}); hs.WriteLog("a", "b")`,
    ],
    ["dim pwd = 'NEW-1' : hs.Speak(pwd)", "dim pwd = '[redacted]' : hs.Speak(pwd)"],
    ['Server=a;User=b;Password=NEW-1;Port=1', 'Server=a;User=b;Password=[redacted];Port=1'],
    ['{"user":"a","password":"NEW-1","pin":4711}', '{"user":"a","password":"[redacted]","pin":[redacted]}'],
    ["if (token == 'NEW-1') {pin: `x`}", "if (token == '[redacted]') {pin: `[redacted]`}"],
    ['"password": "never closed', '"password": "[redacted]"'],
    ['announce.vb("dinner", 20)', 'announce.vb("dinner", 20)'],
    ['The password: nobody knows it, "they" say; a = b', 'The password: nobody knows it, "they" say; a = b'],
  ])('hides the value after a secret name in text: %s', (text, kept) => {
    expect(redactText(text)).toBe(kept)
    expect(redactText(kept)).toBe(kept)
    // Code that somebody allows is code that they have read.
    expect(redactJson({ command: text }, [], 'approver')).toEqual({ command: text })
  })

  it.each([
    'hs.WriteLog("a","http://"&hs.SetDeviceValueByRef(141,0,True)&"@10.0.0.5")',
    'hs.WriteLog("a","b"&key=hs.SetDeviceValueByRef(141,0,True))',
    'hs.WriteLog("a","b"&key=hs.ShutDown)',
    "x = 1 'basic\nhs.ShutDown",
    'x = Basic +hs.ShutDown',
  ])('hides no statement of code from the approver: %s', (command) => {
    expect(redactJson({ command }, [], 'approver')).toEqual({ command })
  })

  it('hides obvious credentials from the approver', () => {
    const command = `hs.GetURL("http://anna:se.cret@10.0.0.5/x?user=a&pass=b&key=c#d", "Bearer abcdefgh12345678") ' hb_${'A'.repeat(43)}`
    expect(redactJson({ command }, [], 'approver')).toEqual({
      command: `hs.GetURL("http://[redacted]@10.0.0.5/x?user=a&pass=[redacted]&key=[redacted]#d", "Bearer [redacted]") ' [redacted]`,
    })
  })

  it('keeps the code of an error and hides the code among arguments', () => {
    expect(redactJson({ error: { code: 'HS4_ERROR' } })).toEqual({ error: { code: 'HS4_ERROR' } })
    expect(redactArguments({ code: 'x' })).toEqual({ code: '[redacted]' })
  })

  it('treats a key named __proto__ as an ordinary key', () => {
    const body = JSON.parse('{"__proto__": {"password": "x", "admin": true}}') as JsonObject
    const kept = redactArguments(body)
    expect(JSON.stringify(kept)).toBe('{"__proto__":{"password":"[redacted]","admin":true}}')
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype)
  })

  it('truncates to a size that can be stored, and marks it', () => {
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

  it('does not leave half a credential when it truncates', () => {
    const url = `http://anna:${'s3cr3t'.repeat(20)}@10.0.0.5/`
    for (let before = 4_050; before < 4_110; before += 7)
      expect(redactArguments({ text: `${'x'.repeat(before)} ${url}` })['text']).not.toContain('s3cr3t')
  })

  it('truncates nothing in an answer that must come back whole', () => {
    const data = { text: 'x'.repeat(100_000), token: 'abc' }
    expect(hideSecretsInJson(data)).toEqual({ text: data.text, token: '[redacted]' })
  })

  it('hides everything when a schema refers to itself without end', () => {
    const requestSchema = {
      $defs: { Knot: { anyOf: [{ $ref: '#/$defs/Knot' }, { $ref: '#/$defs/Knot' }, { $ref: '#/$defs/Knot' }] } },
      properties: { a: { $ref: '#/$defs/Knot' }, hidden: { writeOnly: true } },
    }
    expect(redactArguments({ a: 'x', hidden: 'y' }, { requestSchema })).toEqual({
      a: '[redacted]',
      hidden: '[redacted]',
    })
  })

  it('never keeps a secret, never throws, and always returns canonical JSON', () => {
    const body = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 }) as fc.Arbitrary<JsonObject>
    const secret = 's3cr3t-s3cr3t'
    const place = fc.constantFrom('password', 'apiKey', 'lock_code', 'x-auth-token', 'PIN')
    const found = fc.check(
      fc.property(body, place, anyText(), (rest, name, half) => {
        const pair = { ...rest, setting: name, value: [secret] }
        const kept = redactArguments({ rest: { ...rest, [name]: [secret] }, pair, half: `${half}\ud800` })
        return !canonicalJson(kept).includes(secret)
      }),
    )
    expect(found.counterexample).toBeNull()
  })
})
