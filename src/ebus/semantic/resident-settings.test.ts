/** What a resident is offered to set: what this house has, and nothing of what it has not. */
import { describe, expect, it } from 'vitest'
import { listeningInstallation } from '../../../test/listening-installation.ts'
import { fromHex } from '../../core/bytes.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import { toRegisterReadKey } from './read-key.ts'
import type { RegulatorRegister } from './register.ts'
import {
  CIRCUIT_REGISTERS,
  CYLINDER_REGISTERS,
  HOT_WATER_REGISTERS,
  SOLAR_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
} from './regulator-register-map.ts'
import { listResidentSettings } from './resident-settings.ts'

const REGULATOR = 0x15

function installationWith(
  ...answers: readonly (readonly [RegulatorRegister, instance: number, value: string])[]
): HeatingInstallation {
  const installation = listeningInstallation()
  for (const [register, instance, value] of answers) {
    const payload = fromHex(value === '' ? '' : `00000000${value}`)
    installation.learn(toRegisterReadKey(REGULATOR, register, instance), payload, { atMs: 1, nowMs: 1, source: 'poll' })
  }
  return installation
}

const names = (installation: HeatingInstallation): readonly string[] =>
  listResidentSettings(installation).map(({ name, of }) => `${name} of ${of}`)

describe('resident settings', () => {
  it('are empty while no regulator is known', () => {
    expect(listResidentSettings(listeningInstallation())).toEqual([])
  })

  it('include those of the existing zones and of hot water', () => {
    const installation = installationWith(
      [ZONE_REGISTERS.index, 0, '00'],
      [ZONE_REGISTERS.name, 0, '4c6976696e67'],
      [ZONE_REGISTERS.index, 1, 'ff'],
      [ZONE_REGISTERS.daySetpoint, 0, '0000a841'],
    )
    expect(names(installation)).toEqual([
      'zone.day_setpoint of Living (zone-1)',
      'zone.night_setpoint of Living (zone-1)',
      'zone.operating_mode of Living (zone-1)',
      'zone.quick_veto_setpoint of Living (zone-1)',
      'zone.quick_veto_hours of Living (zone-1)',
      'zone.special_function of Living (zone-1)',
      'zone.holiday_setpoint of Living (zone-1)',
      'system.system_off of The whole system',
    ])
    expect(listResidentSettings(installation)[0]).toMatchObject({
      address: REGULATOR,
      unit: '°C',
      limits: [15, 30],
      now: 21,
      instance: 0,
      shown: { plane: 'zones', path: 'zone-1.config.target_temp_c' },
    })
    expect(names(installationWith([HOT_WATER_REGISTERS.target, 0, '00004842']))).toContain('dhw.target of Hot water')
  })

  it('omit a register that the regulator does not have', () => {
    const installation = installationWith([ZONE_REGISTERS.index, 0, '00'], [ZONE_REGISTERS.quickVetoHours, 0, ''])
    expect(names(installation)).not.toContain('zone.quick_veto_hours of Zone 1 (zone-1)')
  })

  it('read the day setpoint of a 700 controller from its own register, as 15.700.csv and 15.b7v.csv do', () => {
    const installation = installationWith(
      [ZONE_REGISTERS.index, 0, '00'],
      [ZONE_REGISTERS.earlierDaySetpoint, 0, '0000a041'],
    )
    expect(listResidentSettings(installation)[0]).toMatchObject({
      name: 'zone.day_setpoint',
      now: 20,
      register: { number: 7 },
    })
  })

  it('include every register that residents may set', () => {
    const installation = installationWith([ZONE_REGISTERS.index, 0, '00'], [HOT_WATER_REGISTERS.target, 0, '00004842'])
    const maySet = [
      SYSTEM_REGISTERS,
      HOT_WATER_REGISTERS,
      CIRCUIT_REGISTERS,
      ZONE_REGISTERS,
      SOLAR_REGISTERS,
      CYLINDER_REGISTERS,
    ]
      .flatMap((group) => Object.values<RegulatorRegister>(group))
      .filter(({ user }) => user !== undefined)
    const offered = new Set(listResidentSettings(installation).map(({ register }) => register))
    expect(maySet.filter((register) => !offered.has(register))).toEqual([ZONE_REGISTERS.earlierDaySetpoint])
  })
})
