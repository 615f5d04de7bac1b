/** The built-in register map is compared with ebusd's official files where these lie beside the project. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import { BusDefinitions } from '../definitions/bus-definitions.ts'
import { DefinitionFolderReader } from '../definitions/definition-folder-store.ts'
import { formatDisagreement, findRegistersContradictingDefinitions } from './register-disagreement.ts'

const OFFICIAL = fileURLToPath(new URL('../../../../shared/data/ebusd/definitions/en', import.meta.url))
const DEVICES = { regulator: 0x15, boiler: 0x08 }

const vaillant = (deviceId: string): BusDeviceIdentity => ({
  manufacturerCode: 0xb5,
  manufacturer: 'Vaillant',
  deviceId,
  software: '0507',
  hardware: '1704',
})

const HEADER = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'

/** Definitions of one regulator, line by line. */
function regulatorWith(...lines: readonly string[]): BusDefinitions {
  const text = [HEADER, '*r,', ...lines, ''].join('\n')
  const definitions = new BusDefinitions(
    {
      templateFaults: [],
      list: (folder) => ({ files: folder === 'vaillant' ? ['vaillant/15.basv.csv'] : [], folders: [] }),
      readText: () => text,
      templatesFor: () => new Map(),
    },
    'en',
  )
  definitions.identify(0x15, vaillant('BASV2'))
  return definitions
}

describe('disagreements between definition files and the built-in map', () => {
  it.skipIf(!existsSync(OFFICIAL))('do not exist in the official files', () => {
    const folder = new DefinitionFolderReader(OFFICIAL, 'en')
    for (const regulator of ['BASV2', 'CTLV2', 'CTLV3', '70000', '72000', 'B7V00']) {
      const definitions = new BusDefinitions(folder, 'en')
      definitions.identify(0x15, vaillant(regulator))
      definitions.identify(0x08, vaillant('BAI00'))
      const found = findRegistersContradictingDefinitions((exchange) => definitions.find(exchange), DEVICES)
      expect([regulator, found.map(formatDisagreement)]).toEqual([regulator, []])
    }
  })

  it('are reported with file and line, bytes and both readings', () => {
    // The official files read a float at b524 02 00 00 00 73 00, and the built-in map does.
    const right = regulatorWith('r,,,OutsideTemp,,,,b524,020000007300,,,IGN:4,,,,value,,EXP,,°C,')
    expect(findRegistersContradictingDefinitions((exchange) => right.find(exchange), DEVICES)).toEqual([])
    const wrong = regulatorWith('r,,,OutsideTemp,,,,b524,020000007300,,,IGN:4,,,,value,,ULG,,°C,')
    expect(
      findRegistersContradictingDefinitions((exchange) => wrong.find(exchange), DEVICES).map(formatDisagreement),
    ).toEqual([
      'vaillant/15.basv.csv:3: basv.OutsideTemp reads 010073000000ac41 as 1101791232, the built-in register map as 21.5; the definition counts',
    ])
  })

  it('include answers that the definition cannot decode', () => {
    const longer = regulatorWith('r,,,OutsideTemp,,,,b524,020000007300,,,IGN:6,,,,value,,EXP,,°C,')
    expect(findRegistersContradictingDefinitions((exchange) => longer.find(exchange), DEVICES)).toMatchObject([
      { builtIn: 21.5, defined: undefined },
    ])
  })
})
