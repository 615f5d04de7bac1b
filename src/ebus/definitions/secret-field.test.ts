/** Names are those of ebusd's official files; which of them are codes or telephone numbers is written in their comments. */
import { describe, expect, it } from 'vitest'
import { isSecretField } from './secret-field.ts'

const hides = (message: string, field = 'value'): boolean => isSecretField({ name: message }, { name: field })

describe('secret fields', () => {
  it('include codes, passwords and telephone numbers in every spelling of the files', () => {
    const secrets = [
      'PhoneNumber1',
      'PppPhoneNumber2',
      'PhoneNumberPart1',
      'KeyCodeforConfigMenu',
      'Password',
      'PppPassword1',
      'GsmGprsPin',
      'Code1',
      'Code2',
      'Service_passwort',
      'Global_passwort',
    ]
    expect(secrets.filter((name) => !hides(name))).toEqual([])
    expect(hides('Access', 'pin')).toBe(true)
  })

  it('do not include fields with similar names', () => {
    const plain = [
      'StatRTOSErrorcode',
      'RunDataStatuscode',
      'ApplianceCode',
      'ModemCountryCode',
      'BypassValve',
      'Code1Code2Valid',
      'TeleSwitch',
      'FanSpin',
      'Umlenkventil_passivkuehl',
      'StateSoftwareCode',
    ]
    expect(plain.filter((name) => hides(name))).toEqual([])
  })
})
