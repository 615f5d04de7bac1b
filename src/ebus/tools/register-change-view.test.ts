/** What a person is shown who has to say yes to a change. */
import { describe, expect, it } from 'vitest'
import { listeningInstallation } from '../../../test/listening-installation.ts'
import { fromHex } from '../../core/bytes.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import { toRegisterReadKey } from '../semantic/read-key.ts'
import { CIRCUIT_REGISTERS, ZONE_REGISTERS } from '../semantic/regulator-register-map.ts'
import type { RegisterChangeView } from './register-change-view.ts'
import { toRegisterChangeView } from './register-change-view.ts'

const REGULATOR = 0x15

function createInstallation(): HeatingInstallation {
  const installation = listeningInstallation()
  const learn = (key: number, payload: string): boolean =>
    installation.learn(key, fromHex(payload), { atMs: 1, nowMs: 1, source: 'poll' })
  learn(toRegisterReadKey(REGULATOR, CIRCUIT_REGISTERS.heatingCurve, 0), '02020f00 9a99993f')
  learn(toRegisterReadKey(REGULATOR, ZONE_REGISTERS.daySetpoint, 1), '02032200 0000a841')
  return installation
}

function view(data: string, look?: string, secondary = 0x24): RegisterChangeView | undefined {
  const request = { target: REGULATOR, primary: 0xb5, secondary, data: fromHex(data) }
  return toRegisterChangeView(createInstallation(), request, look === undefined ? undefined : fromHex(look))
}

describe('a register change', () => {
  it('contains the name of its register, and both values with unit', () => {
    expect(view('020102000f00 0000803f', '020002000f00')).toEqual({
      label: 'heating curve of circuit 1',
      values: { before: { 'heating curve': 1.2 }, after: { 'heating curve': 1 } },
    })
    expect(view('020103012200 0000b041', '020003012200')).toEqual({
      label: 'day setpoint of zone 2',
      values: { before: { 'day setpoint': '21 °C' }, after: { 'day setpoint': '22 °C' } },
    })
  })

  it('omits the former value if it was not read', () => {
    expect(view('020102010f00 0000803f', '020002010f00')?.values).toEqual({
      before: {},
      after: { 'heating curve': 1 },
    })
  })

  it('shows bytes instead of values when the register sent more bytes than its value has', () => {
    expect(view('020102000f00 0000803f ff', '020002000f00')).toEqual({
      label: 'heating curve of circuit 1',
      values: undefined,
    })
  })

  it('is undefined for an unknown register, or without a write', () => {
    expect(view('020103009900 01')).toBeUndefined()
    expect(view('020002000f00')).toBeUndefined()
  })

  it('of a timer slot contains its times', () => {
    expect(view('a6000003010206001600d700', undefined, 0x55)).toMatchObject({
      label: 'timer slot of zone 1',
      values: { after: { start: '06:00', end: '22:00', temperature: '21.5 °C' } },
    })
  })
})
